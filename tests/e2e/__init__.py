"""Behind a real kube-apiserver: apiext as a cluster's operators would run it."""

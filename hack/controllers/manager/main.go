// Command manager is a user's operator on controller-runtime, as the tests of the test kit run it: one Website becomes one ConfigMap.
//
// It elects a leader by a Lease, and serves the conversion of Websites. Release 1 of the operator works with v1alpha1, release 2 with v1.
package main

import (
	"context"
	"flag"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
)

func main() {
	version := flag.String("version", "v1", "version of Websites to work with: v1alpha1 or v1")
	port := flag.Int("webhook-port", 0, "port of the conversion webhook; 0: none")
	certs := flag.String("webhook-cert-dir", "", "folder of tls.crt and tls.key")
	flag.Parse() // controller-runtime adds --kubeconfig
	ctrl.SetLogger(zap.New())
	if err := run(*version, *port, *certs); err != nil {
		ctrl.Log.Error(err, "the manager failed")
		os.Exit(1)
	}
}

func run(version string, port int, certs string) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, addToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	lease, renew, retry := 4*time.Second, 3*time.Second, 500*time.Millisecond
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme:                        scheme,
		Metrics:                       metricsserver.Options{BindAddress: "0"},
		WebhookServer:                 webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: port, CertDir: certs}),
		LeaderElection:                true,
		LeaderElectionID:              "websites.web.example.com",
		LeaderElectionNamespace:       "default",
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &lease,
		RenewDeadline:                 &renew,
		RetryPeriod:                   &retry,
	})
	if err != nil {
		return err
	}
	if port != 0 {
		converter := conversion.NewHubSpokeConverter(&Website{}, conversion.NewSpokeConverter(&WebsiteV1alpha1{}, fromHub, toHub))
		if err := ctrl.NewWebhookManagedBy(mgr, &Website{}).WithConverter(converter).Complete(); err != nil {
			return err
		}
	}
	var object site = &Website{}
	if version == "v1alpha1" {
		object = &WebsiteV1alpha1{}
	}
	reconciler := &reconciler{Client: mgr.GetClient(), object: object}
	if err := ctrl.NewControllerManagedBy(mgr).Named("websites").For(object).Owns(&corev1.ConfigMap{}).Complete(reconciler); err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}

type reconciler struct {
	client.Client
	object site
}

// Reconcile makes the ConfigMap of a Website, and writes the number of its hosts into its status.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	found := r.object.DeepCopyObject().(site)
	if err := r.Get(ctx, request.NamespacedName, found); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: request.Name, Namespace: request.Namespace}}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, config, func() error {
		config.Data = map[string]string{"hosts": strings.Join(found.hosts(), ",")}
		return controllerutil.SetControllerReference(found, config, r.Scheme())
	}); err != nil {
		return ctrl.Result{}, err
	}
	if found.status().Hosts == int64(len(found.hosts())) {
		return ctrl.Result{}, nil
	}
	found.status().Hosts = int64(len(found.hosts()))
	return ctrl.Result{}, r.Status().Update(ctx, found)
}

// Command startup measures how soon a test of an operator has a server: that of envtest, or that of apiext.
//
//	startup envtest CRDS OBJECT                     with the programs in KUBEBUILDER_ASSETS
//	startup apiext CRDS OBJECT COMMAND [FLAG]...    COMMAND serves as `apiext serve`
//
// It prints the seconds from the start to each step as JSON, and serves until its standard input ends.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/yaml"
)

// Steps has seconds since the start.
type Steps struct {
	Ready   float64 `json:"ready"`
	Loaded  float64 `json:"loaded"`
	Created float64 `json:"created"`
}

type start func() (*rest.Config, func() error, error)

func main() {
	log.SetLogger(zap.New(zap.WriteTo(io.Discard)))
	begin := startEnvtest
	if os.Args[1] == "apiext" {
		begin = startApiext
	}
	if err := run(begin, os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(begin start, crds, object string) error {
	data, err := os.ReadFile(object)
	if err != nil {
		return err
	}
	created := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &created.Object); err != nil {
		return err
	}
	started, steps := time.Now(), Steps{}
	config, stop, err := begin()
	if err != nil {
		return err
	}
	defer stop()
	steps.Ready = time.Since(started).Seconds()
	if _, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{Paths: []string{crds}, ErrorIfPathMissing: true}); err != nil {
		return err
	}
	steps.Loaded = time.Since(started).Seconds()
	api, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	if err := api.Create(context.Background(), created); err != nil {
		return err
	}
	steps.Created = time.Since(started).Seconds()
	if err := json.NewEncoder(os.Stdout).Encode(steps); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func startEnvtest() (*rest.Config, func() error, error) {
	environment := &envtest.Environment{}
	config, err := environment.Start()
	return config, environment.Stop, err
}

func startApiext() (*rest.Config, func() error, error) {
	folder, err := os.MkdirTemp("", "apiext-startup-")
	if err != nil {
		return nil, nil, err
	}
	flags := append(os.Args[5:], "--secure-port=0", "--exit-with-parent", "--data-dir="+folder)
	server := exec.Command(os.Args[4], flags...)
	output, err := server.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := server.Start(); err != nil {
		return nil, nil, err
	}
	stop := func() error {
		defer os.RemoveAll(folder)
		if err := server.Process.Signal(os.Interrupt); err != nil {
			return err
		}
		return server.Wait()
	}
	// the first line says that it is ready
	if _, err := bufio.NewReader(output).ReadString('\n'); err != nil {
		return nil, nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(folder, "pki", "apiext.kubeconfig"))
	return config, stop, err
}

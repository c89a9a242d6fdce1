package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
)

// serve runs a control plane until ctx ends. All its files lie in dir; the
// ports are free ones on the loopback address. Once Pods can be created it
// prints the path of the admin's kubeconfig on out. With onlyAPI there are no
// scheduler and no controllers. The file etcd.url says where etcd is.
func serve(ctx context.Context, dir string, onlyAPI bool, out io.Writer) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	p, err := newPKI(filepath.Join(dir, "pki"))
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for the API server: %w", err)
	}
	defer listener.Close()
	if err := writeUsers(dir, listener.Addr().String(), p); err != nil {
		return err
	}
	if err := writeStages(filepath.Join(dir, "stages.yaml")); err != nil {
		return fmt.Errorf("write kwok's stages: %w", err)
	}
	etcd, stopEtcd, err := startEtcd(ctx, filepath.Join(dir, "etcd"))
	if err != nil {
		return err
	}
	defer stopEtcd()
	if err := os.WriteFile(filepath.Join(dir, "etcd.url"), []byte(etcd), 0o600); err != nil {
		return err
	}

	plane := &plane{dir: dir, pki: p, listener: listener, etcd: etcd, onlyAPI: onlyAPI}
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := plane.start(groupCtx, group); err != nil {
			return err
		}
		_, err := fmt.Fprintln(out, kubeconfig(dir, "admin"))
		return err
	})
	err = group.Wait()
	if ctx.Err() != nil {
		return nil // told to stop: what the components say to that is no error
	}
	return err
}

// A plane is the control plane's Kubernetes part.
type plane struct {
	dir      string
	pki      *pki
	listener net.Listener
	etcd     string
	onlyAPI  bool
}

// start starts the components in group and returns when Pods can be created.
// The component that ends first ends the group.
func (p *plane) start(ctx context.Context, group *errgroup.Group) error {
	client, err := newClient(kubeconfig(p.dir, "admin"))
	if err != nil {
		return err
	}
	run := func(name string, c component, err error) error {
		if err != nil {
			return fmt.Errorf("set up %s: %w", name, err)
		}
		group.Go(func() error {
			if err := c(ctx); err != nil {
				return fmt.Errorf("run %s: %w", name, err)
			}
			return errors.New(name + " ended")
		})
		return nil
	}
	apiServer, err := newAPIServer(ctx, p.dir, p.pki, p.listener, p.etcd)
	if err := run("kube-apiserver", apiServer, err); err != nil {
		return err
	}
	if err := waitReady(ctx, client); err != nil || p.onlyAPI {
		return err
	}
	scheduler, err := newScheduler(ctx, kubeconfig(p.dir, "scheduler"))
	if err := run("kube-scheduler", scheduler, err); err != nil {
		return err
	}
	controllers, err := newControllers(ctx, p.pki, kubeconfig(p.dir, "controller-manager"))
	if err := run("kube-controller-manager", controllers, err); err != nil {
		return err
	}
	return waitServiceAccount(ctx, client)
}

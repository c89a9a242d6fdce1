package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/runtimegate/runtimegate/inventory/fleet"
	"github.com/runtimegate/runtimegate/webhook"
	"github.com/runtimegate/runtimegate/webhook/why"
)

const whyLong = `Says why a Pod does not start, or would not: the way from its RuntimeClass to a
handler to the nodes it may land on, what each group of nodes has in its files,
would load at its next start, has loaded and can run, what the webhook says, what
the Pod's Events mean, and what mends it, in the right order.

It takes pod/NAME or NAME, deployment/NAME and the other workloads,
runtimeclass/NAME, node/NAME, or with -f manifests that are not applied yet, and
asks the cluster that kubectl would talk to, or a snapshot of it. A snapshot in
which Pods, workloads and Events are to be found has to hold them:

  kubectl get nodes,noderuntimes,runtimeclasses,runtimepolicies,namespaces -o yaml > cluster.yaml
  echo --- >> cluster.yaml
  kubectl get pods,deployments,replicasets,statefulsets,daemonsets,jobs,events -A -o yaml >> cluster.yaml

  exit code 0   nothing is wrong
            1   something is: it is denied, fails, or will after the next restart
            2   it cannot tell`

const whyExample = `  # A Pod that hangs in ContainerCreating
  runtimegate why pod/train-0 -n research

  # Before it is applied
  helm template chart/ | runtimegate why -f -

  # All that is the matter with a node
  runtimegate why node/gpu-a`

// whyOptions are the flags of why.
type whyOptions struct {
	viewFlags
	files     []string
	recursive bool
	output    string
}

func newWhyCommand() *cobra.Command {
	o := &whyOptions{}
	cmd := &cobra.Command{
		Use:     "why POD|KIND/NAME|-f FILE",
		Short:   "Say why a Pod does not start, and what mends it, in order",
		Long:    whyLong,
		Example: whyExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			return oneLine(o.run(cmd, args))
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.files, "filename", "f", nil, "manifest file or folder, - for stdin; may be repeated")
	flags.BoolVarP(&o.recursive, "recursive", "R", false, "read the folders given with -f recursively")
	flags.StringVarP(&o.output, "output", "o", "text", "text, json or yaml")
	o.addTo(cmd)
	return cmd
}

// A whyRun is one run of why.
type whyRun struct {
	*whyOptions
	cmd    *cobra.Command
	view   *clusterView
	gate   *webhook.Gate
	nodes  *fleet.Fleet
	faults int
}

// check finds mistakes in the flags and arguments, before any cluster is asked.
func (o *whyOptions) check(args []string) ([]whyTarget, error) {
	stdins := 0
	for _, file := range slices.Concat(o.snapshots, o.files) {
		if file == "-" {
			stdins++
		}
	}
	switch {
	case !slices.Contains([]string{"text", "json", "yaml"}, o.output):
		return nil, fmt.Errorf("--output %q: want text, json or yaml", o.output)
	case len(args) == 0 && len(o.files) == 0:
		return nil, errors.New("why needs something to ask about: a Pod's name, KIND/NAME, or -f with manifests")
	case len(args) > 0 && len(o.files) > 0:
		return nil, fmt.Errorf("%q stands beside -f: give either names or manifests, and -f before each of these", args[0])
	case stdins > 1:
		return nil, errors.New(`stdin can be read once: give only one "-", for -f or for --snapshot`)
	}
	return parseTargets(args)
}

func (o *whyOptions) run(cmd *cobra.Command, args []string) error {
	targets, err := o.check(args)
	if err != nil {
		return err
	}
	r := &whyRun{whyOptions: o, cmd: cmd}
	if r.view, err = o.prepare(cmd); err != nil {
		return err
	}
	// What is wrong with the manifests is told even if there is no cluster.
	objects := r.readManifests()
	if err := o.read(cmd.Context(), r.view, cmd.InOrStdin(), storeKinds); err != nil {
		return err
	}
	questions := r.questionsOf(objects)
	r.gate, r.nodes = r.view.state.Gate(r.view.time), r.view.state.Fleet(r.view.time)
	answers := []*why.Answer{}
	for _, q := range questions {
		if a := why.Ask(cmd.Context(), r.gate, r.nodes, q); a != nil {
			answers = append(answers, a)
		}
	}
	if len(targets) > 0 {
		if answers, err = r.askTargets(cmd.Context(), targets); err != nil {
			return err
		}
	}
	if err := writeWhy(cmd.OutOrStdout(), o.output, answers, r.view.time); err != nil {
		return err
	}
	return r.exit(answers)
}

// exit returns the exit code for the answers.
func (r *whyRun) exit(answers []*why.Answer) error {
	is := func(outcome why.Outcome) bool {
		return slices.ContainsFunc(answers, func(a *why.Answer) bool { return a.Outcome == outcome })
	}
	switch {
	case r.faults > 0:
		return &exitError{code: 2}
	case is(why.Wrong):
		return &exitError{code: 1}
	case is(why.Unknown):
		return &exitError{code: 2}
	}
	return nil
}

func (r *whyRun) fault(err error) {
	r.faults++
	fmt.Fprintln(r.cmd.ErrOrStderr(), "error:", printable(oneLine(err).Error()))
}

// readManifests reads the objects of -f that ask for handlers, or decide on them.
func (r *whyRun) readManifests() []readObject {
	if len(r.files) == 0 {
		return nil
	}
	reader := &objectReader{
		scheme: r.view.scheme, kinds: manifestKinds, fault: r.fault,
		unknown: func(err error) { r.view.note("%v", err) },
	}
	reader.readManifests(r.files, r.recursive, r.cmd.InOrStdin(), r.view.note)
	if reader.seen+reader.emptyLists+r.faults == 0 {
		r.fault(errors.New("no Kubernetes object in what -f names"))
	}
	return reader.objects
}

// questionsOf makes a question of each manifest. Classes, policies and namespaces
// among them count as applied first.
func (r *whyRun) questionsOf(objects []readObject) []why.Question {
	for i := range objects {
		o := &objects[i]
		o.refused = r.view.state.Refuses(o.Object)
		if err := r.view.state.Apply(o.Object); err != nil {
			r.fault(o.at.errorf(o.path, "%w", err))
		}
	}
	var questions []why.Question
	for i := range objects {
		o := &objects[i]
		namespace := cmp.Or(o.GetNamespace(), r.view.namespace)
		if o.kind.Kind == "RuntimeClass" {
			namespace = ""
		}
		q := r.question(o.Object, o.kind.Kind, namespace, nil)
		q.Refused = o.refused
		questions = append(questions, q)
	}
	return questions
}

func (r *whyRun) question(object runtime.Object, kind, namespace string, events []corev1.Event) why.Question {
	version := kindNamed(kind).GroupVersion().String()
	name := nameOf(object)
	return why.Question{About: why.Object{APIVersion: version, Kind: kind, Namespace: namespace, Name: name}, Object: object, Events: events}
}

// askTargets answers about what is there.
func (r *whyRun) askTargets(ctx context.Context, targets []whyTarget) ([]*why.Answer, error) {
	store, err := r.view.store()
	if err != nil {
		return nil, err
	}
	var answers []*why.Answer
	for _, t := range targets {
		answer, err := r.askTarget(ctx, store, t)
		if err != nil {
			// Of one that is not there nothing is told, of the others all is.
			if len(targets) == 1 {
				return nil, err
			}
			r.fault(err)
			continue
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

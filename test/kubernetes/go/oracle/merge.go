package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// types are the schemas of Kubernetes' own kinds.
var types = applyconfigurations.NewTypeConverter(scheme.Scheme)

type mergeCase struct {
	APIVersion string      `json:"apiVersion"`
	Kind       string      `json:"kind"`
	Steps      []mergeStep `json:"steps"`
}

type mergeStep struct {
	// One of ways.
	Do      string         `json:"do"`
	Manager string         `json:"manager"`
	Object  map[string]any `json:"object"`
}

// ways are how somebody changes an object; whoever updates so that it forgets takes away the record of who owns what.
var ways = []string{"apply", "apply-by-force", "update", "update-forgetting"}

type stepVerdict struct {
	// The fields that others own, when it was refused for them: once for each owner.
	Conflicts []string `json:"conflicts,omitempty"`
	Error     string   `json:"error,omitempty"`
	// The object after the step, without the record of who owns what.
	Object map[string]any `json:"object"`
	// The fields that each owns, by manager and operation; items of lists among them, beside what is in them.
	Owned map[string][]string `json:"owned"`
}

type mergeVerdict struct {
	Steps []stepVerdict `json:"steps"`
}

func (asked *mergeCase) check() error {
	group, err := schema.ParseGroupVersion(asked.APIVersion)
	if err != nil || !scheme.Scheme.Recognizes(group.WithKind(asked.Kind)) {
		return refused("merge.kind", asked.APIVersion+" "+asked.Kind, "apiVersion and kind must be those of an object of Kubernetes")
	}
	if len(asked.Steps) == 0 {
		return refused("merge.steps", asked.Steps, "there must be one at least")
	}
	for index, step := range asked.Steps {
		if err := step.check(fmt.Sprintf("merge.steps[%d]", index), asked); err != nil {
			return err
		}
	}
	return nil
}

func (step mergeStep) check(at string, asked *mergeCase) error {
	if !slices.Contains(ways, step.Do) {
		return refused(at+".do", step.Do, "it must be one of "+strings.Join(ways, ", "))
	}
	if step.Manager == "" {
		return refused(at+".manager", step.Manager, "it must be a name")
	}
	if bad := metavalidation.ValidateFieldManager(step.Manager, field.NewPath(at, "manager")); len(bad) > 0 {
		return bad.ToAggregate()
	}
	if step.Object == nil {
		return refused(at+".object", step.Object, "it must be an object")
	}
	for key, must := range map[string]string{"apiVersion": asked.APIVersion, "kind": asked.Kind} {
		if given, isGiven := step.Object[key]; isGiven && given != must {
			return refused(at+".object."+key, given, "where it is given, it must be that of the case, "+must)
		}
	}
	metadata, isGiven := step.Object["metadata"]
	if !isGiven {
		return nil
	}
	fields, isObject := metadata.(map[string]any)
	if !isObject {
		return refused(at+".object.metadata", metadata, "it must be an object")
	}
	if record, isGiven := fields["managedFields"]; isGiven {
		return refused(at+".object.metadata.managedFields", record, "it is kept here from step to step, and cannot be given")
	}
	return nil
}

func merge(asked *mergeCase) (*mergeVerdict, error) {
	group, err := schema.ParseGroupVersion(asked.APIVersion)
	if err != nil {
		return nil, err
	}
	manager := managedfieldstest.NewTestFieldManager(types, group.WithKind(asked.Kind))
	verdict := &mergeVerdict{}
	for _, step := range asked.Steps {
		object := &unstructured.Unstructured{Object: step.Object}
		object.SetAPIVersion(asked.APIVersion)
		object.SetKind(asked.Kind)
		// By that it is told apart whether the object has been there before.
		object.SetUID("one")
		var refusal error
		switch step.Do {
		case "update":
			// As a client that has read the object writes it: with the record of who owns what.
			object.SetManagedFields(manager.ManagedFields())
			refusal = manager.Update(object, step.Manager)
		case "update-forgetting":
			object.SetManagedFields([]metav1.ManagedFieldsEntry{{}})
			refusal = manager.Update(object, step.Manager)
		default:
			refusal = manager.Apply(object, step.Manager, step.Do == "apply-by-force")
		}
		after, broken := stepTold(manager, refusal)
		if broken != nil {
			return nil, broken
		}
		verdict.Steps = append(verdict.Steps, after)
	}
	return verdict, nil
}

func stepTold(manager managedfieldstest.TestFieldManager, refusal error) (stepVerdict, error) {
	live, isObject := manager.Live().(*unstructured.Unstructured)
	if !isObject {
		return stepVerdict{}, fmt.Errorf("the object is a %T", manager.Live())
	}
	live.SetManagedFields(nil)
	live.SetUID("")
	verdict := stepVerdict{Object: live.Object, Owned: map[string][]string{}}
	if status, isStatus := refusal.(apierrors.APIStatus); isStatus && apierrors.IsConflict(refusal) {
		for _, cause := range status.Status().Details.Causes {
			verdict.Conflicts = append(verdict.Conflicts, cause.Field)
		}
		slices.Sort(verdict.Conflicts)
	} else if refusal != nil {
		verdict.Error = refusal.Error()
	}
	for _, entry := range manager.ManagedFields() {
		set := &fieldpath.Set{}
		if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.Raw)); err != nil {
			return stepVerdict{}, err
		}
		key := entry.Manager + "/" + string(entry.Operation)
		verdict.Owned[key] = []string{}
		set.Iterate(func(path fieldpath.Path) { verdict.Owned[key] = append(verdict.Owned[key], path.String()) })
		slices.Sort(verdict.Owned[key])
	}
	return verdict, nil
}

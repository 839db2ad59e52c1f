package main

import (
	"bytes"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

type mergeCase struct {
	APIVersion string      `json:"apiVersion"`
	Kind       string      `json:"kind"`
	Steps      []mergeStep `json:"steps"`
}

type mergeStep struct {
	// apply, apply-by-force or update.
	Do      string         `json:"do"`
	Manager string         `json:"manager"`
	Object  map[string]any `json:"object"`
}

type stepVerdict struct {
	// The fields that others own, when it was refused for them.
	Conflicts []string `json:"conflicts,omitempty"`
	Error     string   `json:"error,omitempty"`
	// The object after the step, without the record of who owns what.
	Object map[string]any `json:"object"`
	// The fields that each owns, by manager and operation.
	Owned map[string][]string `json:"owned"`
}

type mergeVerdict struct {
	Steps []stepVerdict `json:"steps"`
}

func merge(asked *mergeCase) (*mergeVerdict, error) {
	group, err := schema.ParseGroupVersion(asked.APIVersion)
	if err != nil {
		return nil, err
	}
	manager := managedfieldstest.NewTestFieldManager(applyconfigurations.NewTypeConverter(scheme.Scheme), group.WithKind(asked.Kind))
	verdict := &mergeVerdict{}
	for _, step := range asked.Steps {
		object := &unstructured.Unstructured{Object: step.Object}
		object.SetAPIVersion(asked.APIVersion)
		object.SetKind(asked.Kind)
		var err error
		switch step.Do {
		case "apply", "apply-by-force":
			err = manager.Apply(object, step.Manager, step.Do == "apply-by-force")
		case "update":
			// As a client that has read the object writes it: with the record of who owns what.
			object.SetManagedFields(manager.ManagedFields())
			err = manager.Update(object, step.Manager)
		default:
			return nil, fmt.Errorf("there is no step %q", step.Do)
		}
		after, broken := stepTold(manager, err)
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
		set.Leaves().Iterate(func(path fieldpath.Path) { verdict.Owned[key] = append(verdict.Owned[key], path.String()) })
		slices.Sort(verdict.Owned[key])
	}
	return verdict, nil
}

import type { NewObject } from '../../kube/api/api-object.ts';
import type { JobKind } from '../kinds/kind.ts';
import { JOB_KINDS } from '../kinds/table.ts';
import { jobRules } from './job-rules.ts';
import { clusterName, LABELS } from './options.ts';

const ADMISSION = 'admissionregistration.k8s.io/v1';

/**
 * The validation of v1 as policies of the API server: no webhook that could be missing. An invalid
 * job is refused with the path of its field, as v1’s webhook refuses it.
 */
export function admissionPolicies(watchNamespace: string | null): readonly NewObject[] {
  return JOB_KINDS.flatMap((kind) => [policy(kind, watchNamespace), binding(kind, watchNamespace)]);
}

function nameOf({ resource }: JobKind, watchNamespace: string | null): string {
  return `${clusterName(watchNamespace)}-${resource.plural}`;
}

function policy(kind: JobKind, watchNamespace: string | null): NewObject {
  const { group, version, plural } = kind.resource;
  const rules = jobRules(kind);
  return {
    apiVersion: ADMISSION,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: nameOf(kind, watchNamespace), labels: LABELS },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [{ apiGroups: [group], apiVersions: [version], operations: ['CREATE', 'UPDATE'], resources: [plural] }],
      },
      // A job from before the policy can still lose its finalizers, and be deleted.
      matchConditions: [{ name: 'spec-changes', expression: 'request.operation == "CREATE" || object.?spec != oldObject.?spec' }],
      variables: [
        { name: 'roles', expression: `object.?spec.?${kind.rolesField}.orValue({})` },
        ...rules.map(({ name, errors }) => ({ name, expression: errors })),
      ],
      validations: rules.map(({ name, message }) => ({
        expression: `size(variables.${name}) == 0`,
        messageExpression: `variables.${name}[0]`,
        message,
      })),
    },
  };
}

function binding(kind: JobKind, watchNamespace: string | null): NewObject {
  const name = nameOf(kind, watchNamespace);
  const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': watchNamespace ?? '' } };
  return {
    apiVersion: ADMISSION,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name, labels: LABELS },
    spec: { policyName: name, validationActions: ['Deny'], ...(watchNamespace === null ? {} : { matchResources: { namespaceSelector } }) },
  };
}

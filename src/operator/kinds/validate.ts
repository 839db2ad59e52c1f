import type { ApiObject } from '../../kube/api/api-object.ts';
import { at, type Fields, fieldsOf, isFields, listAt, numberAt, textAt } from '../../kube/objects/fields.ts';
import type { JobKind } from './kind.ts';

/** A rule of v1's admission that a job breaks. */
export interface FieldError {
  /** `spec.pytorchReplicaSpecs[Master].replicas`. */
  readonly path: string;
  readonly rule: 'Invalid value' | 'Required value' | 'Unsupported value' | 'Forbidden';
  readonly detail: string;
}

/** The values that `managedBy` may have: v1's own name, and MultiKueue. */
export const MANAGERS = { own: 'kubeflow.org/training-operator', multiKueue: 'kueue.x-k8s.io/multikueue' } as const;

const LONGEST_NAME = 63;
const DNS_1035 = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;

/** The rules that a job breaks, with the paths of v1; empty: it is valid. */
export function validateJob(kind: JobKind, object: ApiObject): readonly FieldError[] {
  const spec = fieldsOf(object['spec']);
  return [
    ...nameErrors(object.metadata.name),
    ...managerErrors(textAt(spec, 'runPolicy', 'managedBy')),
    ...elasticErrors(kind, spec),
    ...roleErrors(kind, spec[kind.rolesField]),
  ];
}

/** `path: Forbidden: must be 1`, as the API server prints it. */
export function errorText({ path, rule, detail }: FieldError): string {
  return `${path}: ${rule}: ${detail}`;
}

function nameErrors(name: string): readonly FieldError[] {
  if (DNS_1035.test(name) && name.length <= LONGEST_NAME) return [];
  const detail = `"${name}" is not a DNS-1035 label: at most ${LONGEST_NAME} lower case letters, digits and dashes, and a letter first`;
  return [{ path: 'metadata.name', rule: 'Invalid value', detail }];
}

function managerErrors(manager: string | null): readonly FieldError[] {
  if (manager === null || manager === MANAGERS.own || manager === MANAGERS.multiKueue) return [];
  const detail = `"${manager}": supported values: "${MANAGERS.multiKueue}", "${MANAGERS.own}"`;
  return [{ path: 'spec.runPolicy.managedBy', rule: 'Unsupported value', detail }];
}

function elasticErrors(kind: JobKind, spec: Fields): readonly FieldError[] {
  const policy = spec['elasticPolicy'];
  if (!isFields(policy)) return [];
  const errors: FieldError[] = [];
  if (at(spec, kind.rolesField, 'Worker') === undefined) {
    const path = `spec.${kind.rolesField}[Worker]`;
    errors.push({ path, rule: 'Required value', detail: 'must be configured if elastic policy is used' });
  }
  if (numberAt(policy, 'nProcPerNode') !== null && textAt(spec, 'nprocPerNode') !== null) {
    errors.push({ path: 'spec.elasticPolicy.nProcPerNode', rule: 'Forbidden', detail: 'must not be used with spec.nprocPerNode' });
  }
  return errors;
}

function roleErrors(kind: JobKind, specs: unknown): readonly FieldError[] {
  const path = `spec.${kind.rolesField}`;
  if (!isFields(specs)) return [{ path, rule: 'Required value', detail: 'must be required' }];
  const exclusive = Object.keys(specs).filter((role) => kind.exclusiveRoles.includes(role));
  return [
    ...Object.entries(specs).flatMap(([role, spec]) => [
      ...(kind.checksRoles ? spellingErrors(kind, role, `${path}[${role}]`) : []),
      ...containerErrors(kind, spec, `${path}[${role}].template.spec.containers`),
      ...(kind.checksRoles ? countErrors(kind, role, { spec, path: `${path}[${role}].replicas` }) : []),
    ]),
    ...(exclusive.length > 1
      ? [{ path, rule: 'Forbidden', detail: `must not have more than 1 ${kind.exclusiveRoles.join(' or ')} role` } as const]
      : []),
  ];
}

function spellingErrors({ roles }: JobKind, role: string, path: string): readonly FieldError[] {
  if (roles.includes(role)) return [];
  const supported = roles.map((each) => `"${each}"`).join(', ');
  return [{ path, rule: 'Unsupported value', detail: `"${role}": supported values: ${supported}` }];
}

function containerErrors(kind: JobKind, spec: unknown, path: string): readonly FieldError[] {
  const containers = listAt(spec, 'template', 'spec', 'containers');
  const errors: FieldError[] = containers.length === 0 ? [{ path, rule: 'Required value', detail: 'must be specified' }] : [];
  for (const [index, container] of containers.entries()) {
    if (textAt(container, 'image') === null)
      errors.push({ path: `${path}[${index}].image`, rule: 'Required value', detail: 'must be required' });
  }
  if (!containers.some((container) => textAt(container, 'name') === kind.container)) {
    errors.push({ path, rule: 'Required value', detail: `must have at least one container with name ${kind.container}` });
  }
  return errors;
}

/** A leading role states its one replica; any other has one or more, or leaves it out. */
function countErrors(
  kind: JobKind,
  role: string,
  { spec, path }: { readonly spec: unknown; readonly path: string },
): readonly FieldError[] {
  const count = numberAt(spec, 'replicas');
  if (kind.leaders.includes(role)) return count === 1 ? [] : [{ path, rule: 'Forbidden', detail: 'must be 1' }];
  return count === null || count >= 1 ? [] : [{ path, rule: 'Forbidden', detail: 'must be at least 1' }];
}

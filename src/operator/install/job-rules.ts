import type { JobKind } from '../kinds/kind.ts';
import { MANAGERS } from '../kinds/validate.ts';

/** A rule of v1's validation, in the expression language of the API server (CEL). */
export interface JobRule {
  /** The variable that holds the errors. */
  readonly name: string;
  /** An expression for the list of errors, each with the path of its field. */
  readonly errors: string;
  /** What is said where the errors cannot be computed. */
  readonly message: string;
}

/** The language has no way to count the items of a list. A pod rarely has more containers. */
const INDEXES = `[${Array.from({ length: 64 }, (_, index) => index).join(', ')}]`;

/** The rules for a kind of job: those of `kinds/validate.ts`, with its words. */
export function jobRules(kind: JobKind): readonly JobRule[] {
  const path = `spec.${kind.rolesField}`;
  return [
    {
      name: 'nameErrors',
      errors: only(
        `object.metadata.name.matches("^[a-z]([-a-z0-9]*[a-z0-9])?$") && size(object.metadata.name) <= 63`,
        `"metadata.name: Invalid value: \\"" + object.metadata.name + "\\" is not a DNS-1035 label: at most 63 lower case letters, digits and dashes, and a letter first"`,
      ),
      message: 'metadata.name: Invalid value: it is not a DNS-1035 label',
    },
    ...managerRules(),
    ...(kind.resource.kind === 'PyTorchJob' ? elasticRules(path) : []),
    {
      name: 'requiredErrors',
      errors: only(`object.?spec.?${kind.rolesField}.hasValue()`, text(`${path}: Required value: must be required`)),
      message: `${path}: Required value: must be required`,
    },
    ...(kind.checksRoles ? [spellingRule(kind, path), ...countRules(kind, path)] : []),
    ...containerRules(kind, path),
    ...(kind.exclusiveRoles.length > 1 ? [exclusiveRule(kind, path)] : []),
  ];
}

/** No error where the condition holds; else this one. */
function only(condition: string, error: string): string {
  return `${condition} ? [] : [${error}]`;
}

/** The errors of the roles for which a condition holds, with the name of the role in their path. */
function perRole(path: string, bad: string, rest: string): string {
  return `variables.roles.map(role, ${bad} ? "${path}[" + role + "]" + ${rest} : "").filter(error, error != "")`;
}

function text(value: string): string {
  return JSON.stringify(value);
}

function managerRules(): readonly JobRule[] {
  const manager = 'object.?spec.?runPolicy.?managedBy.orValue("")';
  const before = 'oldObject.?spec.?runPolicy.?managedBy.orValue("")';
  const path = 'spec.runPolicy.managedBy';
  const allowed = [MANAGERS.multiKueue, MANAGERS.own];
  const supported = `\\": supported values: ${allowed.map((name) => `\\"${name}\\"`).join(', ')}"`;
  return [
    {
      name: 'managerErrors',
      errors: only(`${manager} in ${JSON.stringify(['', ...allowed])}`, `"${path}: Unsupported value: \\"" + ${manager} + "${supported}`),
      message: `${path}: Unsupported value`,
    },
    {
      name: 'managerChangeErrors',
      errors: only(
        `request.operation == "CREATE" || ${manager} == ${before}`,
        `"${path}: Invalid value: \\"" + ${manager} + "\\": field is immutable"`,
      ),
      message: `${path}: Invalid value: field is immutable`,
    },
  ];
}

function elasticRules(path: string): readonly JobRule[] {
  const policy = 'object.?spec.?elasticPolicy';
  const worker = `${path}[Worker]: Required value: must be configured if elastic policy is used`;
  const processes = 'spec.elasticPolicy.nProcPerNode: Forbidden: must not be used with spec.nprocPerNode';
  const hasBoth = `${policy}.?nProcPerNode.hasValue() && object.?spec.?nprocPerNode.orValue("") != ""`;
  return [
    { name: 'elasticErrors', errors: only(`!${policy}.hasValue() || "Worker" in variables.roles`, text(worker)), message: worker },
    { name: 'processErrors', errors: only(`!(${hasBoth})`, text(processes)), message: processes },
  ];
}

function spellingRule({ roles }: JobKind, path: string): JobRule {
  const supported = roles.map((role) => `\\"${role}\\"`).join(', ');
  return {
    name: 'spellingErrors',
    errors: perRole(
      path,
      `!(role in ${JSON.stringify(roles)})`,
      `": Unsupported value: \\"" + role + "\\": supported values: ${supported}"`,
    ),
    message: `${path}: Unsupported value: a role is none of ${roles.join(', ')}`,
  };
}

function countRules({ leaders }: JobKind, path: string): readonly JobRule[] {
  const leads = `role in ${JSON.stringify(leaders)}`;
  const count = 'variables.roles[role].?replicas';
  return [
    {
      name: 'leaderCountErrors',
      errors: perRole(path, `${leads} && ${count}.orValue(0) != 1`, '".replicas: Forbidden: must be 1"'),
      message: `${path}: Forbidden: ${leaders.join(' and ')} must have 1 replica`,
    },
    {
      name: 'countErrors',
      errors: perRole(path, `!(${leads}) && ${count}.orValue(1) < 1`, '".replicas: Forbidden: must be at least 1"'),
      message: `${path}: Forbidden: replicas must be at least 1`,
    },
  ];
}

function containerRules({ container }: JobKind, path: string): readonly JobRule[] {
  const containers = 'variables.roles[role].?template.?spec.?containers.orValue([])';
  const suffix = '.template.spec.containers';
  const unnamed = (index: string): string => `${index} < size(${containers}) && ${containers}[${index}].?image.orValue("") == ""`;
  const named = `Required value: must have at least one container with name ${container}`;
  return [
    {
      name: 'containerErrors',
      errors: perRole(path, `size(${containers}) == 0`, text(`${suffix}: Required value: must be specified`)),
      message: `${path}: Required value: each role must have containers`,
    },
    {
      name: 'imageErrors',
      errors: perRole(
        path,
        `${containers}.exists(each, each.?image.orValue("") == "")`,
        `"${suffix}[" + string(${INDEXES}.filter(index, ${unnamed('index')})[0]) + "].image: Required value: must be required"`,
      ),
      message: `${path}: Required value: each container must have an image`,
    },
    {
      name: 'containerNameErrors',
      errors: perRole(path, `!${containers}.exists(each, each.?name.orValue("") == "${container}")`, text(`${suffix}: ${named}`)),
      message: `${path}: ${named}`,
    },
  ];
}

function exclusiveRule({ exclusiveRoles }: JobKind, path: string): JobRule {
  const message = `${path}: Forbidden: must not have more than 1 ${exclusiveRoles.join(' or ')} role`;
  const present = `variables.roles.filter(role, role in ${JSON.stringify(exclusiveRoles)})`;
  return { name: 'exclusiveErrors', errors: only(`size(${present}) <= 1`, text(message)), message };
}

import { at, fieldsOf, listAt, numberAt, textAt } from '../../kube/objects/fields.ts';
import { jobOf } from '../../kube/objects/job.ts';
import type { KubeObject } from '../../kube/objects/object.ts';
import type { Gang } from './gang.ts';

/** What the controller of a gang does after some of its pods were evicted. */
export interface Reaction {
  /** `recreates`: the pods come again. `ends`: they do not. `unknown`: it depends. */
  readonly does: 'recreates' | 'ends' | 'unknown';
  readonly because: string;
  /** A trainer that exits with 0 on SIGTERM makes its workload look finished. */
  readonly canLookFinished: boolean;
}

/** The reaction of the controller to the loss of `victims`, all of this gang. */
export function reactionOf(gang: Gang, victims: readonly KubeObject[], isSupervised: boolean): Reaction {
  const { controller, isService } = gang;
  if (controller === null) return ends('no controller creates the pod again');
  if (isService) return recreates(`its ${controller} creates the pod again`, false);
  if (isSupervised) return recreates('Holdfast’s operator ends the whole gang and starts it again from its last good checkpoint', false);
  return (
    REACTIONS[gang.kind === 'PodGroup' || gang.kind === 'Pod' ? controller : gang.kind]?.(gang, victims) ??
    unknown(`what a ${controller} does is not known`, true)
  );
}

type React = (gang: Gang, victims: readonly KubeObject[]) => Reaction;

const ofTrainingJob: React = ({ kind, object }, victims) =>
  object === null ? unknown(`the ${kind} was not read`, true) : ofReplicas(object, victims);

const REACTIONS: Readonly<Record<string, React>> = {
  Job: ({ object }, victims) => (object === null ? unknown('the Job was not read', true) : ofJob(object, victims.length)),
  JobSet: ({ object }) => (object === null ? unknown('the JobSet was not read', true) : ofJobSet(object)),
  PyTorchJob: ofTrainingJob,
  TFJob: ofTrainingJob,
  LeaderWorkerSet: ({ object }) =>
    textAt(object?.fields, 'spec', 'leaderWorkerTemplate', 'restartPolicy') === 'None'
      ? recreates('the LeaderWorkerSet replaces the pod alone (restartPolicy None)', false)
      : recreates('the LeaderWorkerSet restarts the whole group', false),
  RayJob: (_, victims) => ofRay(victims),
};

function ofJob(object: KubeObject, victims: number): Reaction {
  const { ignoresDisruptions: isPatient, backoffLimit, failed } = jobOf(object);
  if (isPatient) return recreates('the Job replaces the pods, and its podFailurePolicy does not count the disruption', true);
  const counted = failed + victims;
  if (counted > backoffLimit) {
    return ends(
      `the Job fails: ${counted} failed ${counted === 1 ? 'pod is' : 'pods are'} above its backoffLimit ${backoffLimit}, and no rule ignores disruptions`,
      true,
    );
  }
  return recreates(`the Job replaces the pods, and counts ${counted} of ${backoffLimit} failures`, true);
}

function ofJobSet({ fields }: KubeObject): Reaction {
  const [most, used] = [numberAt(fields, 'spec', 'failurePolicy', 'maxRestarts') ?? 0, numberAt(fields, 'status', 'restarts') ?? 0];
  const jobs = listAt(fields, 'spec', 'replicatedJobs').map((each) => at(each, 'template', 'spec'));
  const isPatient = jobs.every((spec) => ignoresDisruptions(spec) || (numberAt(spec, 'backoffLimit') ?? 6) > 0);
  if (isPatient) return recreates('its Jobs replace the pods', true);
  if (used < most) return recreates(`the JobSet restarts all its Jobs (restart ${used + 1} of ${most})`, true);
  return ends(
    `the JobSet fails: a Job fails with its first lost pod, and ${most === 0 ? 'maxRestarts is 0' : `all ${most} restarts are used`}`,
    true,
  );
}

function ignoresDisruptions(spec: unknown): boolean {
  return listAt(spec, 'podFailurePolicy', 'rules').some(
    (rule) =>
      textAt(rule, 'action') === 'Ignore' && listAt(rule, 'onPodConditions').some((each) => textAt(each, 'type') === 'DisruptionTarget'),
  );
}

const ROLE = 'training.kubeflow.org/replica-type';

function ofReplicas({ kind, fields }: KubeObject, victims: readonly KubeObject[]): Reaction {
  const roles = new Set(victims.map(({ labels }) => labels.get(ROLE) ?? ''));
  const specs = Object.entries(fieldsOf(at(fields, 'spec', kind === 'TFJob' ? 'tfReplicaSpecs' : 'pytorchReplicaSpecs')));
  const policies = new Set(
    specs.flatMap(([role, spec]) =>
      roles.has(role.toLowerCase()) || roles.has('') ? [textAt(spec, 'restartPolicy') ?? (kind === 'TFJob' ? 'Never' : 'OnFailure')] : [],
    ),
  );
  if (policies.has('Never')) return ends(`the ${kind} fails: restartPolicy Never allows no lost pod`, true);
  if (policies.has('ExitCode')) {
    return unknown(
      `restartPolicy ExitCode: the pod comes again after an exit code from 128, such as 143; the ${kind} fails after 1 to 127`,
      true,
    );
  }
  return recreates('the training operator creates the pod again; the other pods are not restarted, and wait for it or fail', true);
}

function ofRay(victims: readonly KubeObject[]): Reaction {
  const losesHead = victims.some(({ labels }) => labels.get('ray.io/node-type') === 'head');
  return losesHead
    ? unknown('the Ray cluster loses its head: the RayJob fails, or is tried again within its backoffLimit', false)
    : unknown('Ray replaces the worker; its tasks and actors run again as the program allows', false);
}

function recreates(because: string, canLookFinished: boolean): Reaction {
  return { does: 'recreates', because, canLookFinished };
}

function ends(because: string, canLookFinished = false): Reaction {
  return { does: 'ends', because, canLookFinished };
}

function unknown(because: string, canLookFinished: boolean): Reaction {
  return { does: 'unknown', because, canLookFinished };
}

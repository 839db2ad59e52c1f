import type { NewObject } from '../../kube/api/api-object.ts';
import { at, type Fields, fieldsOf, listAt, textAt } from '../../kube/objects/fields.ts';
import { ATTEMPT_VARIABLE } from '../kinds/names.ts';
import { CONTAINERS, IMAGE_FILES, POD_FILES, VOLUMES } from './names.ts';

/** What is put in front of the trainer of a pod. */
export interface Supervisor {
  /** The name of the training container. */
  readonly container: string;
  /** The image that holds the supervisor. */
  readonly image: string;
  readonly options: readonly string[];
  /** The number of the attempt, which the trainer finds in its environment. */
  readonly attempt: number;
  /** The run was supervised before: a pod in which the supervisor does not run fails. */
  readonly isRequired: boolean;
}

/** The resources that count for the quality of service of a pod, and that quotas ask for. */
const COMMON_RESOURCES: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage']);
/** The user of the copying container: `nonroot` of the usual base images. */
const NOBODY = 65532;
/** What Pod Security demands at its level restricted. */
const RESTRICTED: Fields = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
  runAsUser: NOBODY,
  runAsGroup: NOBODY,
  seccompProfile: { type: 'RuntimeDefault' },
};

/**
 * The same pod, whose training container starts under the supervisor. Its own command and arguments
 * follow the supervisor's options unchanged, so the kubelet expands the variables in them.
 */
export function supervisedPod(pod: NewObject, supervisor: Supervisor): NewObject {
  const spec = fieldsOf(pod['spec']);
  const containers = listAt(spec, 'containers');
  const trainer = containers.find((each) => textAt(each, 'name') === supervisor.container);
  return {
    ...pod,
    spec: {
      ...spec,
      initContainers: [installer(supervisor, trainer), checker(supervisor, trainer), ...listAt(spec, 'initContainers')],
      containers: containers.map((each) => (each === trainer ? started(each, supervisor) : each)),
      volumes: [
        ...listAt(spec, 'volumes'),
        { name: VOLUMES.bin, emptyDir: {} },
        { name: VOLUMES.pod, downwardAPI: { items: [{ path: 'annotations', fieldRef: { fieldPath: 'metadata.annotations' } }] } },
      ],
    },
  };
}

function installer({ image }: Supervisor, trainer: unknown): Fields {
  return {
    name: CONTAINERS.install,
    image,
    command: [IMAGE_FILES.launcher, '--install', POD_FILES.bin, IMAGE_FILES.supervisor],
    resources: resourcesOf(trainer),
    securityContext: RESTRICTED,
    volumeMounts: [{ name: VOLUMES.bin, mountPath: POD_FILES.bin }],
  };
}

/** It runs as the trainer will: in its image, as its user, with its environment and its mounts. */
function checker({ isRequired }: Supervisor, trainer: unknown): Fields {
  const same = ['image', 'imagePullPolicy', 'env', 'envFrom', 'securityContext', 'workingDir'];
  return {
    ...Object.fromEntries(same.map((name) => [name, at(trainer, name)]).filter(([, value]) => value !== undefined)),
    name: CONTAINERS.check,
    command: [POD_FILES.launcher, isRequired ? '--require' : '--check', POD_FILES.supervisor],
    resources: resourcesOf(trainer),
    volumeMounts: [...listAt(trainer, 'volumeMounts'), { name: VOLUMES.bin, mountPath: POD_FILES.bin }],
  };
}

function started(trainer: unknown, { options, attempt }: Supervisor): Fields {
  const container = fieldsOf(trainer);
  return {
    ...container,
    env: [...listAt(container, 'env'), { name: ATTEMPT_VARIABLE, value: String(attempt) }],
    command: [POD_FILES.launcher, POD_FILES.supervisor, ...options.map(unexpanded), '--', ...listAt(container, 'command')],
    volumeMounts: [
      ...listAt(container, 'volumeMounts'),
      { name: VOLUMES.bin, mountPath: POD_FILES.bin, readOnly: true },
      { name: VOLUMES.pod, mountPath: POD_FILES.pod, readOnly: true },
    ],
  };
}

/** A word that the kubelet passes on as it stands. */
function unexpanded(word: string): string {
  return word.replaceAll('$(', '$$$$(');
}

/** The trainer's own, without its accelerators: the pod asks for no more, and keeps its class. */
function resourcesOf(trainer: unknown): Fields {
  const common = (kind: string): readonly (readonly [string, unknown])[] =>
    Object.entries(fieldsOf(at(trainer, 'resources', kind))).filter(([name]) => COMMON_RESOURCES.has(name));
  return Object.fromEntries(
    ['limits', 'requests'].flatMap((kind) => {
      const entries = common(kind);
      return entries.length === 0 ? [] : [[kind, Object.fromEntries(entries)]];
    }),
  );
}

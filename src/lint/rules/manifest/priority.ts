import type { ObjectRule, WorkloadRule, World } from '../../engine/rule.ts';
import { nameOf } from '../../manifest/workload-names.ts';
import { isSupervised, trains } from '../../manifest/facts.ts';
import { boolean, get, numberAt, spanAt, textAt } from '../../manifest/yaml-node.ts';
import type { KubeObject, Workload } from '../../manifest/workload.ts';

const CLASS = (name: string, value: number, policy = 'PreemptLowerPriority'): string => `---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: { name: ${name} }
value: ${value}
preemptionPolicy: ${policy}
`;

const POD = (kind: string, name: string, priority: string): string => `---
kind: ${kind}
metadata: { name: ${name} }
spec:
  template:
    spec:
      restartPolicy: ${kind === 'Job' ? 'Never' : 'Always'}
      ${priority === '' ? '' : `priorityClassName: ${priority}`}
      containers: [{ name: ${kind === 'Job' ? 'trainer' : 'server'}, command: [python, ${kind === 'Job' ? 'train' : 'serve'}.py], resources: { limits: { nvidia.com/gpu: 1 } } }]
`;

/** The API server knows two policies. */
export const priorityInvalidPolicy: ObjectRule = {
  code: 'PREEMPTION_POLICY_INVALID',
  readsFragments: true,
  severity: 'error',
  on: 'object',
  title: 'There is no such preemptionPolicy',
  why: '`preemptionPolicy` is `PreemptLowerPriority`, the default, or `Never`. The API server refuses everything else; in particular there is no policy that evicts pods of higher priority.',
  fix: 'Use PreemptLowerPriority or Never.',
  bad: { manifest: CLASS('inference', 1000, 'PreemptHigherPriority') },
  good: { manifest: CLASS('inference', 1000, 'Never') },
  check({ kind, root, name }) {
    if (kind !== 'PriorityClass') return [];
    const policy = textAt(root, 'preemptionPolicy');
    if (policy === null || policy === 'Never' || policy === 'PreemptLowerPriority') return [];
    return [
      {
        at: spanAt(root, 'preemptionPolicy'),
        message: `PriorityClass ${name ?? ''}: the API server refuses the preemptionPolicy ${policy}; there are PreemptLowerPriority and Never.`,
      },
    ];
  },
};

/**
 * The value of the pod's class. A pod without a class has the default one, else 0; null if the
 * class is unknown.
 */
function priorityOf(workload: Workload, world: World): number | null {
  if (textAt(workload.pod, 'priorityClassName') !== null) {
    const own = classOf(workload, world);
    return own === null ? null : (numberAt(own.root, 'value') ?? 0);
  }
  const standard = world.ofKind('PriorityClass').find(({ root }) => boolean(get(root, 'globalDefault')) === true);
  return standard === undefined ? 0 : (numberAt(standard.root, 'value') ?? 0);
}

function classOf(workload: Workload, world: World): KubeObject | null {
  const name = textAt(workload.pod, 'priorityClassName');
  return name === null ? null : (world.named('PriorityClass', name)[0] ?? null);
}

/** Never says whom the pod evicts, not who may evict it. */
export const priorityNeverIsNoShield: WorkloadRule = {
  code: 'PREEMPTION_NEVER_IS_NO_SHIELD',
  severity: 'warning',
  on: 'workload',
  title: 'preemptionPolicy: Never does not protect training',
  why: '`Never` on the class of a training pod keeps that pod from evicting others while it waits. It can still be evicted by any pod of higher priority. It is protected by a priority that is at least as high as the others, by `Never` on their class, or by its own nodes.',
  fix: 'Raise the priority of the training class to that of inference, or set preemptionPolicy: Never on the class of inference.',
  bad: { manifest: CLASS('training', 1000, 'Never') + CLASS('inference', 100_000) + POD('Job', 'train', 'training') },
  good: { manifest: CLASS('training', 100_000, 'Never') + CLASS('inference', 1000, 'Never') + POD('Job', 'train', 'training') },
  check(workload, world) {
    const own = classOf(workload, world);
    if (own === null || !trains(workload) || textAt(own.root, 'preemptionPolicy') !== 'Never') return [];
    const above = evictorsOf(numberAt(own.root, 'value') ?? 0, world)[0];
    if (above === undefined) return [];
    return [
      {
        at: spanAt(workload.pod, 'priorityClassName'),
        message: `${nameOf(workload)}: Never on ${own.name} does not keep pods of ${above.name} (${numberAt(above.root, 'value')}) from evicting it.`,
      },
    ];
  },
};

function evictorsOf(value: number, world: World): readonly KubeObject[] {
  return world.ofKind('PriorityClass').filter(({ root }) => {
    const policy = textAt(root, 'preemptionPolicy') ?? 'PreemptLowerPriority';
    return policy === 'PreemptLowerPriority' && (numberAt(root, 'value') ?? 0) > value;
  });
}

/** Pods of a higher class than training evict it. */
export const priorityPreemptsTraining: WorkloadRule = {
  code: 'PRIORITY_PREEMPTS_TRAINING',
  severity: 'warning',
  on: 'workload',
  title: 'Another class evicts this training',
  why: 'When a pod of a higher class finds no room, the scheduler deletes pods of lower priority, however long they have trained. The trainer gets SIGTERM and its whole grace. Without a save in that time, all work since the last checkpoint is lost.',
  fix: 'Set preemptionPolicy: Never on the higher class, or make sure that this training saves within its grace (`holdfast run`).',
  bad: { manifest: CLASS('training', 1000) + CLASS('inference', 100_000) + POD('Job', 'train', 'training') },
  good: { manifest: CLASS('training', 1000) + CLASS('inference', 100_000, 'Never') + POD('Job', 'train', 'training') },
  check(workload, world) {
    const own = classOf(workload, world);
    const value = priorityOf(workload, world);
    if (value === null || !trains(workload) || isSupervised(workload)) return [];
    // The rule about Never says the same.
    if (own !== null && textAt(own.root, 'preemptionPolicy') === 'Never') return [];
    // A pod without a class may be for another cluster than a class in another file.
    const above = evictorsOf(value, world).find(({ path }) => own !== null || path === workload.object.path);
    if (above === undefined) return [];
    return [
      {
        at: spanAt(workload.pod, 'priorityClassName'),
        message: `${nameOf(workload)} has the priority ${value}: pods of ${above.name} (${numberAt(above.root, 'value')}) evict it when they need its room.`,
      },
    ];
  },
};

/** Pods of equal priority do not evict each other. */
export const priorityEqual: WorkloadRule = {
  code: 'PRIORITY_EQUAL',
  severity: 'info',
  on: 'workload',
  title: 'Training and inference have the same priority',
  why: 'Only pods of strictly lower priority are evicted. With equal priorities inference waits until training ends, and training starts between two requests. The pod that comes first gets the accelerators.',
  fix: 'Give them classes of their own, and decide which one may evict the other.',
  bad: { manifest: POD('Job', 'train', '') + POD('Deployment', 'serve', '') },
  good: { manifest: CLASS('serving', 1000, 'Never') + POD('Job', 'train', '') + POD('Deployment', 'serve', 'serving') },
  check(workload, { services }) {
    const { trainer } = workload;
    if (!trains(workload) || trainer === null || trainer.accelerators === 0) return [];
    const priority = textAt(workload.pod, 'priorityClassName') ?? '';
    const other = services.find(
      (one) =>
        textAt(one.pod, 'priorityClassName') === (priority === '' ? null : priority) &&
        one.containers.some(({ accelerators }) => accelerators > 0),
    );
    if (other === undefined) return [];
    const what = priority === '' ? 'no priority class' : `the class ${priority}`;
    return [
      {
        at: spanAt(workload.pod, 'priorityClassName'),
        message: `${nameOf(workload)} and ${nameOf(other)} have ${what}: neither evicts the other, and the second one waits.`,
      },
    ];
  },
};

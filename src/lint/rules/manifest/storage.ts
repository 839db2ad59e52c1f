import type { WorkloadRule } from '../../engine/rule.ts';
import {
  checkpointFolder,
  isRemote,
  isSupervised,
  mountOf,
  namesObjectStore,
  quantity,
  trains,
  volumeOf,
  writableClaims,
} from '../../manifest/facts.ts';
import { nameOf, sameNamespace } from '../../manifest/workload-names.ts';
import { get, items, spanAt, text, textAt } from '../../manifest/yaml-node.ts';

const JOB = (
  more: string,
  command = '[python, train.py, --checkpoint-dir=/checkpoints]',
  mounts = '[{ name: data, mountPath: /checkpoints }]',
): string => `
apiVersion: batch/v1
kind: Job
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: trainer
          command: ${command}
          volumeMounts: ${mounts}
      volumes:
        - name: data
          ${more}
`;

/** An emptyDir is deleted with its pod. */
export const checkpointOnEmptyDir: WorkloadRule = {
  code: 'CHECKPOINT_ON_EMPTY_DIR',
  readsFragments: true,
  severity: 'error',
  on: 'workload',
  title: 'Checkpoints are kept on an emptyDir',
  why: 'An emptyDir is deleted with its pod, and the next pod gets an empty one. Every interruption that replaces the pod starts the training from nothing. The emptyDir also fills the disk of the node, which can lead to evictions.',
  fix: 'Mount a PersistentVolumeClaim there, or copy what is saved to a bucket: `holdfast run --ship=s3://…`.',
  bad: { manifest: JOB('emptyDir: {}') },
  good: { manifest: JOB('persistentVolumeClaim: { claimName: runs }') },
  check(workload) {
    const { pod, trainer } = workload;
    const folder = checkpointFolder(workload);
    if (folder === null || trainer === null || !trains(workload) || namesObjectStore(workload)) return [];
    const volume = volumeOf(pod, mountOf(trainer, folder.path)?.volume ?? '');
    if (volume === null || get(volume, 'emptyDir') === null) return volume?.kind === 'map' && volume.entries.has('emptyDir') ? [hit()] : [];
    return [hit()];
    function hit() {
      return {
        at: folder?.at ?? spanAt(pod),
        message: `${nameOf(workload)} keeps checkpoints in ${folder?.path}, an emptyDir that is deleted with the pod.`,
      };
    }
  },
};

/** The files of a container are deleted with it. */
export const checkpointInContainer: WorkloadRule = {
  code: 'CHECKPOINT_IN_CONTAINER',
  severity: 'error',
  on: 'workload',
  title: 'Checkpoints are kept in the file system of the container',
  why: 'A path without a volume is in the writable layer of the container. It is deleted with the container, also after a restart in place.',
  fix: 'Mount a PersistentVolumeClaim at the folder, or copy what is saved to a bucket.',
  bad: { manifest: JOB('persistentVolumeClaim: { claimName: runs }', '[python, train.py, --checkpoint-dir=/tmp/checkpoints]') },
  good: { manifest: JOB('persistentVolumeClaim: { claimName: runs }') },
  check(workload) {
    const { trainer } = workload;
    const folder = checkpointFolder(workload);
    if (folder === null || trainer === null || !trains(workload) || namesObjectStore(workload)) return [];
    if (!folder.path.startsWith('/') || /\$/.test(folder.path) || mountOf(trainer, folder.path) !== null) return [];
    return [
      {
        at: folder.at,
        message: `${nameOf(workload)} keeps checkpoints in ${folder.path}, where no volume is mounted: they are deleted with the container.`,
      },
    ];
  },
};

/** A folder of the node stays on the node. */
export const checkpointOnHostPath: WorkloadRule = {
  code: 'CHECKPOINT_ON_HOST_PATH',
  readsFragments: true,
  severity: 'warning',
  on: 'workload',
  title: 'Checkpoints are kept on the disk of one node',
  why: 'A hostPath is another folder on every node. The next pod often comes to another node and finds nothing there. A reclaimed Spot node takes the folder with it.',
  fix: 'Use a PersistentVolumeClaim that every node can mount, or copy what is saved to a bucket.',
  bad: { manifest: JOB('hostPath: { path: /var/checkpoints }') },
  good: { manifest: JOB('persistentVolumeClaim: { claimName: runs }') },
  check(workload) {
    const { pod, trainer } = workload;
    const folder = checkpointFolder(workload);
    if (folder === null || trainer === null || !trains(workload) || namesObjectStore(workload)) return [];
    if (get(pod, 'nodeName') !== null || textAt(pod, 'nodeSelector', 'kubernetes.io/hostname') !== null) return [];
    const volume = volumeOf(pod, mountOf(trainer, folder.path)?.volume ?? '');
    if (get(volume, 'hostPath') === null) return [];
    return [{ at: folder.at, message: `${nameOf(workload)} keeps checkpoints in ${folder.path}, a folder of the node that it runs on.` }];
  },
};

/** A claim that one node can mount, for pods on several. */
export const claimOfOneNode: WorkloadRule = {
  code: 'CLAIM_OF_ONE_NODE',
  severity: 'error',
  on: 'workload',
  title: 'Several pods share a claim that one node can mount',
  why: 'A claim with ReadWriteOnce is mounted on one node at a time. The pods of a gang that come to other nodes stay in ContainerCreating with a Multi-Attach error, and the gang never meets.',
  fix: 'Use a claim with ReadWriteMany, from a storage class that has it (NFS, EFS, Filestore, Lustre).',
  bad: {
    manifest: `${JOB('persistentVolumeClaim: { claimName: runs }').replace('spec:\n', 'spec:\n  parallelism: 4\n  completions: 4\n')}---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: runs }
spec: { accessModes: [ReadWriteOnce] }
`,
  },
  good: {
    manifest: `${JOB('persistentVolumeClaim: { claimName: runs }').replace('spec:\n', 'spec:\n  parallelism: 4\n  completions: 4\n')}---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: runs }
spec: { accessModes: [ReadWriteMany] }
`,
  },
  check(workload, world) {
    const { pods, object, role } = workload;
    if ((pods ?? 1) < 2 || !trains(workload)) return [];
    // Of a job with several replicas the claim is named once.
    if (role === 'Worker' && get(object.root, 'spec', 'pytorchReplicaSpecs', 'Master') !== null) return [];
    return writableClaims(workload).flatMap(({ claim, volume }) => {
      const found = world.named('PersistentVolumeClaim', claim).find((one) => sameNamespace(one, object));
      const modes = items(get(found?.root ?? null, 'spec', 'accessModes')).map((mode) => text(mode) ?? '');
      if (found === undefined || modes.length === 0 || modes.some((mode) => !/^ReadWriteOnce(?:Pod)?$/.test(mode))) return [];
      return [
        {
          at: spanAt(volume, 'persistentVolumeClaim', 'claimName'),
          message: `${nameOf(workload)} has ${pods} pods, but the claim ${claim} is ${modes.join(', ')}: one node can mount it.`,
        },
      ];
    });
  },
};

/** A reclaimed Spot node takes its disks with it. */
export const spotWithoutCopies: WorkloadRule = {
  code: 'SPOT_WITHOUT_COPIES',
  severity: 'error',
  on: 'workload',
  title: 'On Spot everything that is saved is lost with the node',
  why: 'A reclaimed Spot node takes its disk, its emptyDirs and its containers with it. Without a claim that can move to another node and without copies in an object store, every reclaim starts the training from nothing.',
  fix: 'Mount a PersistentVolumeClaim for the checkpoints, or copy them: `holdfast run --ship=s3://…`.',
  bad: {
    manifest: JOB('emptyDir: {}', '[python, train.py]', '[{ name: data, mountPath: /work }]').replace(
      'restartPolicy: Never',
      'restartPolicy: Never\n      nodeSelector: { cloud.google.com/gke-spot: "true" }',
    ),
  },
  good: {
    manifest: JOB('persistentVolumeClaim: { claimName: runs }', '[python, train.py]', '[{ name: data, mountPath: /work }]').replace(
      'restartPolicy: Never',
      'restartPolicy: Never\n      nodeSelector: { cloud.google.com/gke-spot: "true" }',
    ),
  },
  check(workload) {
    const { spot, pod, trainer } = workload;
    if (spot === null || trainer === null || !trains(workload) || trainer.hasEnvFrom || namesObjectStore(workload)) return [];
    const moves = trainer.mounts.some((mount) => {
      const volume = volumeOf(pod, mount.volume);
      return (
        !mount.isReadOnly &&
        ['persistentVolumeClaim', 'nfs', 'csi', 'ephemeral', 'cephfs', 'glusterfs', 'azureFile'].some((kind) => get(volume, kind) !== null)
      );
    });
    const folder = checkpointFolder(workload);
    if (moves || (folder !== null && isRemote(folder.path))) return [];
    return [
      {
        at: spot.at,
        message: `${nameOf(workload)} runs on Spot (${spot.key}), and everything that it could save to is lost with the node.`,
      },
    ];
  },
};

/** Staging in memory counts against the memory limit. */
export const memoryBelowStaging: WorkloadRule = {
  code: 'MEMORY_BELOW_STAGING',
  severity: 'error',
  on: 'workload',
  title: 'The memory limit leaves no room for what is staged in memory',
  why: 'An emptyDir of medium Memory counts against the memory limit of the container that writes to it. If it may take most of the limit, the save that fills it gets the trainer killed for memory, with 137 and without a grace.',
  fix: 'Raise the memory limit by the sizeLimit of the volume, or lower that.',
  bad: {
    manifest: JOB(
      'emptyDir: { medium: Memory, sizeLimit: 16Gi }',
      '[holdfast, run, --, python, train.py]\n          resources: { limits: { memory: 16Gi } }',
      '[{ name: data, mountPath: /stage }]',
    ),
  },
  good: {
    manifest: JOB(
      'emptyDir: { medium: Memory, sizeLimit: 4Gi }',
      '[holdfast, run, --, python, train.py]\n          resources: { limits: { memory: 16Gi } }',
      '[{ name: data, mountPath: /stage }]',
    ),
  },
  check(workload) {
    const { pod, trainer } = workload;
    if (trainer === null || !trains(workload)) return [];
    const limitNode = get(trainer.node, 'resources', 'limits', 'memory');
    const limit = quantity(limitNode);
    if (limit === null || limitNode === null) return [];
    const inMemory = trainer.mounts
      .map((mount) => volumeOf(pod, mount.volume))
      .filter((volume) => textAt(volume, 'emptyDir', 'medium') === 'Memory');
    const stages = inMemory.filter((volume) => !/shm/.test(textAt(volume, 'name') ?? ''));
    const size = stages.reduce((sum, volume) => sum + (quantity(get(volume, 'emptyDir', 'sizeLimit')) ?? 0), 0);
    if (size < limit * 0.8) return [];
    const what = isSupervised(workload) ? 'what is staged' : 'volumes in memory';
    return [
      {
        at: limitNode,
        message: `${nameOf(workload)}: ${what} may take ${text(get(stages[0] ?? null, 'emptyDir', 'sizeLimit'))} of the memory limit of ${text(limitNode)}, and little is left for the trainer.`,
      },
    ];
  },
};

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { run } from '../src/cli/commands/run/run.ts';
import { parseCommandLine } from '../src/cli/frame/parse.ts';
import { parseBytes } from '../src/core/bytes.ts';
import { POD_FAILURE_POLICY } from '../src/domain/exit/exit-contract.ts';

const EXAMPLES = join(import.meta.dirname, '..', 'examples');
const TRAINERS = readdirSync(EXAMPLES).filter((name) => existsSync(join(EXAMPLES, name, 'train.py')));

interface Mount {
  readonly name: string;
  readonly mountPath: string;
}

interface Volume {
  readonly name: string;
  readonly emptyDir?: { readonly medium?: string; readonly sizeLimit?: string };
  readonly persistentVolumeClaim?: { readonly claimName: string };
  readonly downwardAPI?: { readonly items: readonly { readonly path: string; readonly fieldRef: { readonly fieldPath: string } }[] };
}

interface Container {
  readonly name: string;
  readonly command: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly resources: {
    readonly requests: { readonly memory: string };
    readonly limits: { readonly memory: string; readonly 'ephemeral-storage': string };
  };
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly volumeMounts: readonly Mount[];
}

interface PodSpec {
  readonly restartPolicy?: string;
  readonly terminationGracePeriodSeconds: number;
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly containers: readonly Container[];
  readonly volumes: readonly Volume[];
}

interface Replica {
  readonly replicas: number;
  readonly restartPolicy: string;
  readonly template: { readonly spec: PodSpec };
}

interface Job {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: { readonly podFailurePolicy: unknown; readonly template: { readonly spec: PodSpec } };
}

interface CronJob {
  readonly spec: { readonly concurrencyPolicy: string; readonly jobTemplate: { readonly spec: Job['spec'] } };
}

interface IndexedJob {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly completionMode: string;
    readonly completions: number;
    readonly parallelism: number;
    readonly podFailurePolicy: unknown;
    readonly template: { readonly spec: PodSpec & { readonly subdomain: string } };
  };
}

interface Service {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly selector: Readonly<Record<string, string>> };
}

interface PyTorchJob {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: { readonly pytorchReplicaSpecs: Readonly<Record<string, Replica>> };
}

/** Parses as YAML 1.2 without a warning. */
function read(path: string): unknown {
  return parse(readFileSync(join(EXAMPLES, 'kubernetes', path), 'utf8'), { strict: true, uniqueKeys: true, logLevel: 'error' });
}

const jobOf = (name: string): Job => read(`job/${name}.yaml`) as Job;
const pyTorchJobOf = (name: string): PyTorchJob => read(`pytorchjob/${name}.yaml`) as PyTorchJob;
/** The pods of each kind, and how many nodes they make. */
function kindsOf(name: string): readonly (readonly [readonly PodSpec[], number])[] {
  const replicas = Object.values(pyTorchJobOf(name).spec.pytorchReplicaSpecs);
  return [
    [[jobOf(name).spec.template.spec], 1],
    [replicas.map(({ template }) => template.spec), replicas.reduce((sum, replica) => sum + replica.replicas, 0)],
  ];
}
const podsOf = (name: string): readonly PodSpec[] => kindsOf(name).flatMap(([pods]) => pods);

function onlyContainer({ containers }: PodSpec): Container {
  const [container, ...more] = containers;
  if (container === undefined || more.length > 0) throw new Error('not one container');
  return container;
}

/** The options of the container's command line for `holdfast run`; an unknown word is an error. */
function optionsOf({ command }: Container) {
  expect(command.slice(0, 2)).toEqual(['holdfast', 'run']);
  return parseCommandLine(command.slice(2), run.options);
}

/** The volume at a path of the container. */
function volumeAt(pod: PodSpec, path: string): Volume {
  const mount = onlyContainer(pod).volumeMounts.find(({ mountPath }) => path === mountPath || path.startsWith(`${mountPath}/`));
  const volume = pod.volumes.find(({ name }) => name === mount?.name);
  if (volume === undefined) throw new Error(`${path} lies on no volume`);
  return volume;
}

const bytesOf = (text: string): number => {
  const size = parseBytes(`${text}B`);
  if (!size.ok) throw new Error(size.reason);
  return size.value;
};

it('every trainer, and only a trainer, has a Job and a PyTorchJob', () => {
  const expected = TRAINERS.map((name) => `${name}.yaml`).toSorted();
  expect(readdirSync(join(EXAMPLES, 'kubernetes/job')).toSorted()).toEqual(expected);
  expect(readdirSync(join(EXAMPLES, 'kubernetes/pytorchjob')).toSorted()).toEqual(expected);
});

it('every node can mount the volume of the runs', () => {
  expect(read('runs.yaml')).toMatchObject({ metadata: { name: 'runs' }, spec: { accessModes: ['ReadWriteMany'] } });
});

describe.each(TRAINERS)('%s', (name) => {
  it('as a Job has the failure policy for the exit codes', () => {
    const { apiVersion, kind, spec } = jobOf(name);
    expect({ apiVersion, kind, restartPolicy: spec.template.spec.restartPolicy }).toEqual({
      apiVersion: 'batch/v1',
      kind: 'Job',
      restartPolicy: 'Never',
    });
    expect({ podFailurePolicy: spec.podFailurePolicy }).toEqual(parse(POD_FAILURE_POLICY));
  });

  it('as a PyTorchJob retries by exit code, in containers with the names that the operator expects', () => {
    const { apiVersion, kind, spec } = pyTorchJobOf(name);
    expect({ apiVersion, kind }).toEqual({ apiVersion: 'kubeflow.org/v1', kind: 'PyTorchJob' });
    for (const { restartPolicy, template } of Object.values(spec.pytorchReplicaSpecs)) {
      expect([restartPolicy, template.spec.restartPolicy, onlyContainer(template.spec).name]).toEqual(['ExitCode', undefined, 'pytorch']);
    }
    expect(spec.pytorchReplicaSpecs['Master']?.replicas).toBe(1);
  });

  it('uses existing options and a trainer of this repository', () => {
    for (const pod of podsOf(name)) {
      const { operands } = optionsOf(onlyContainer(pod));
      const script = operands.at(-1) ?? '';
      expect(existsSync(join(EXAMPLES, script.replace(/^\/app\//, '')))).toBe(true);
      expect(script).toBe(`/app/${name}/train.py`);
    }
  });

  it('passes the grace of the pod to the supervisor', () => {
    for (const pod of podsOf(name)) {
      expect(optionsOf(onlyContainer(pod)).values.grace).toBe(pod.terminationGracePeriodSeconds * 1000);
    }
  });

  it('keeps its run on the shared volume, and reads the annotations', () => {
    for (const pod of podsOf(name)) {
      const container = onlyContainer(pod);
      const { values } = optionsOf(container);
      expect(volumeAt(pod, values.dir ?? '').persistentVolumeClaim?.claimName).toBe('runs');
      const noticeFile = values['notice-file'] ?? '';
      const [item] = volumeAt(pod, noticeFile).downwardAPI?.items ?? [];
      expect(item?.fieldRef.fieldPath).toBe('metadata.annotations');
      expect(noticeFile.endsWith(`/${item?.path}`)).toBe(true);
    }
  });

  it('stages in memory on one node, and requests no such memory on several', () => {
    for (const [pods, nodes] of kindsOf(name)) {
      for (const pod of pods) {
        const { env = [], resources } = onlyContainer(pod);
        const stage = env.find((variable) => variable.name === 'HOLDFAST_STAGE')?.value;
        const inMemory = pod.volumes.filter(({ emptyDir }) => emptyDir?.medium === 'Memory');
        expect(resources.requests.memory).toBe(resources.limits.memory);
        if (nodes > 1) {
          expect([stage, inMemory]).toEqual([undefined, []]);
        } else {
          expect(inMemory).toEqual([volumeAt(pod, stage ?? '')]);
          expect(bytesOf(resources.limits.memory)).toBeGreaterThanOrEqual(2 * bytesOf(inMemory[0]?.emptyDir?.sizeLimit ?? ''));
        }
      }
    }
  });

  it('has a limit of at least 1 GiB for the disk of its node', () => {
    for (const pod of podsOf(name)) {
      expect(bytesOf(onlyContainer(pod).resources.limits['ephemeral-storage'])).toBeGreaterThanOrEqual(2 ** 30);
    }
  });

  it('needs neither root nor a writable image', () => {
    for (const pod of podsOf(name)) {
      const { securityContext, volumeMounts } = onlyContainer(pod);
      expect(pod.securityContext['runAsNonRoot']).toBe(true);
      expect(securityContext).toEqual({ readOnlyRootFilesystem: true, allowPrivilegeEscalation: false });
      expect(volumeAt(pod, '/tmp').emptyDir).toEqual({});
      expect(volumeMounts.map((mount) => mount.name).toSorted()).toEqual(pod.volumes.map((volume) => volume.name).toSorted());
    }
  });

  it('is the same in both kinds, except for the rendezvous of torchrun and memory for staging', () => {
    const [job, ...others] = podsOf(name).map((pod) => {
      const { values, operands } = optionsOf(onlyContainer(pod));
      const volumes = pod.volumes.filter(({ emptyDir }) => emptyDir?.medium !== 'Memory');
      return { values, script: operands.at(-1), volumes, grace: pod.terminationGracePeriodSeconds };
    });
    for (const other of others) expect(other).toEqual(job);
  });
});

describe('torchrun as an indexed Job', () => {
  const [service, job] = parseAllDocuments(readFileSync(join(EXAMPLES, 'kubernetes/indexed/torchrun.yaml'), 'utf8')).map(
    (document) => document.toJS({ maxAliasCount: 0 }) as unknown,
  ) as [Service, IndexedJob];
  const { template, completions, parallelism, podFailurePolicy } = job.spec;
  const { command } = onlyContainer(template.spec);

  it('has the failure policy for the exit codes, and the grace of the supervisor’s option', () => {
    expect({ podFailurePolicy }).toEqual(parse(POD_FAILURE_POLICY));
    expect(optionsOf(onlyContainer(template.spec)).values.grace).toBe(template.spec.terminationGracePeriodSeconds * 1000);
  });

  it('has as many pods, all at once, as the options of the supervisor and torchrun say', () => {
    const { values, operands } = optionsOf(onlyContainer(template.spec));
    expect([job.spec.completionMode, parallelism, values.nodes]).toEqual(['Indexed', completions, completions]);
    expect(operands).toContain(`--nnodes=${completions}`);
    expect(operands.at(-1)).toBe('/app/torchrun/train.py');
  });

  it('meets at the first pod, by the name that it has in the service before it is ready', () => {
    expect(service).toMatchObject({ kind: 'Service', spec: { clusterIP: 'None', publishNotReadyAddresses: true } });
    expect(service.spec.selector).toEqual({ 'batch.kubernetes.io/job-name': job.metadata.name });
    expect(template.spec.subdomain).toBe(service.metadata.name);
    expect(command).toContain(`--master-addr=${job.metadata.name}-0.${service.metadata.name}`);
  });
});

/**
 * A Job without the parts that make several runs of it: their folders, and the variable that names
 * one.
 */
function withoutRuns(spec: Job['spec']): unknown {
  const container = onlyContainer(spec.template.spec);
  const command = container.command.map((word) => word.replace(/^--dir=.*$/, '--dir'));
  const env = container.env?.filter(({ name }) => name !== 'JOB_NAME');
  return { ...spec, template: { spec: { ...spec.template.spec, containers: [{ ...container, command, env }] } } };
}

const dirOf = ({ template }: Job['spec']): string | null => optionsOf(onlyContainer(template.spec)).values.dir;

it('the published manifest for clusters without a registry is the same for a CronJob as for a Job', () => {
  const [ofJob, ofCronJob] = [read('local/patch.yaml'), read('local/cronjob-patch.yaml')] as readonly { readonly path: string }[][];
  expect(ofJob?.length).toBeGreaterThan(0);
  expect(ofCronJob).toEqual(ofJob?.map((change) => ({ ...change, path: change.path.replace('/spec/', '/spec/jobTemplate/spec/') })));
});

it('stdlib as a CronJob is its Job with a separate run for each start, and waits for a late run', () => {
  const { spec } = read('cronjob/stdlib.yaml') as CronJob;
  expect(spec.concurrencyPolicy).toBe('Forbid');
  // The history limits of a CronJob bound how many finished Jobs there are.
  const { ttlSecondsAfterFinished, ...single } = withoutRuns(jobOf('stdlib').spec) as Readonly<Record<string, unknown>>;
  expect(ttlSecondsAfterFinished).toBe(604_800);
  expect(withoutRuns(spec.jobTemplate.spec)).toEqual(single);
  expect(dirOf(spec.jobTemplate.spec)).toBe('/runs/$(JOB_NAME)');
});

it('stdlib as an indexed Job is its Job with a separate run and error limit for each index', () => {
  const { spec } = read('indexed/stdlib.yaml') as Job;
  const { completionMode, completions, parallelism, backoffLimitPerIndex, podFailurePolicy, ...rest } = withoutRuns(spec) as Job['spec'] &
    Readonly<Record<string, unknown>>;
  expect({ completionMode, completions, parallelism }).toEqual({ completionMode: 'Indexed', completions: 4, parallelism: 2 });
  const single = withoutRuns(jobOf('stdlib').spec) as Job['spec'] & Readonly<Record<string, unknown>>;
  expect({ ...rest, podFailurePolicy, backoffLimit: backoffLimitPerIndex }).toEqual({
    ...single,
    podFailurePolicy: JSON.parse(JSON.stringify(single.podFailurePolicy).replace('FailJob', 'FailIndex')) as unknown,
  });
  expect(dirOf(spec)).toBe('/runs/many-$(JOB_COMPLETION_INDEX)');
});

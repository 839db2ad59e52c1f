import { at, fieldsOf, listAt, mapAt, numberAt, textAt, textsAt } from './fields.ts';
import { parseQuantity } from './quantity.ts';

/** A preStop hook, which runs before SIGTERM. */
export interface PreStop {
  readonly kind: 'sleep' | 'exec' | 'http' | 'tcp';
  /** Its duration, if the manifest gives it. */
  readonly seconds: number | null;
}

/** A container in the manifest. */
export interface ContainerSpec {
  readonly name: string;
  /** The command and its arguments in one list; empty: the image decides. */
  readonly command: readonly string[];
  readonly env: ReadonlyMap<string, string>;
  readonly preStop: PreStop | null;
  readonly memoryLimit: number | null;
  readonly memoryRequest: number | null;
  readonly storageLimit: number | null;
  readonly storageRequest: number | null;
  readonly accelerators: number;
}

/** A volume that is deleted with its pod. */
export interface EmptyDir {
  readonly name: string;
  readonly isMemory: boolean;
  readonly sizeLimit: number | null;
}

/** A toleration that delays the end of a pod. */
export interface Toleration {
  readonly key: string | null;
  readonly effect: string | null;
  readonly seconds: number | null;
}

/** The spec of a pod, from a pod or from a template. */
export interface PodSpec {
  /** Null: the manifest does not set it, and Kubernetes gives 30. */
  readonly graceSeconds: number | null;
  readonly nodeName: string | null;
  readonly nodeSelector: ReadonlyMap<string, string>;
  readonly priority: number | null;
  readonly priorityClass: string | null;
  readonly restartPolicy: string | null;
  readonly hasSharedProcesses: boolean;
  readonly containers: readonly ContainerSpec[];
  readonly emptyDirs: readonly EmptyDir[];
  readonly tolerations: readonly Toleration[];
}

/** Reads the spec of a pod. */
export function podSpecOf(spec: unknown): PodSpec {
  return {
    graceSeconds: numberAt(spec, 'terminationGracePeriodSeconds'),
    nodeName: textAt(spec, 'nodeName'),
    nodeSelector: mapAt(spec, 'nodeSelector'),
    priority: numberAt(spec, 'priority'),
    priorityClass: textAt(spec, 'priorityClassName'),
    restartPolicy: textAt(spec, 'restartPolicy'),
    hasSharedProcesses: at(spec, 'shareProcessNamespace') === true,
    containers: listAt(spec, 'containers').flatMap(containerSpecOf),
    emptyDirs: listAt(spec, 'volumes').flatMap(emptyDirOf),
    tolerations: listAt(spec, 'tolerations').map((entry) => ({
      key: textAt(entry, 'key'),
      effect: textAt(entry, 'effect'),
      seconds: numberAt(entry, 'tolerationSeconds'),
    })),
  };
}

/** The number of accelerators of a pod, of any vendor. */
export function acceleratorsOf({ containers }: PodSpec): number {
  return containers.reduce((sum, { accelerators }) => sum + accelerators, 0);
}

function containerSpecOf(value: unknown): readonly ContainerSpec[] {
  const name = textAt(value, 'name');
  if (name === null) return [];
  const limit = (resource: string): number | null => parseQuantity(at(value, 'resources', 'limits', resource));
  const request = (resource: string): number | null => parseQuantity(at(value, 'resources', 'requests', resource));
  const env = listAt(value, 'env').flatMap((entry): (readonly [string, string])[] => {
    const key = textAt(entry, 'name');
    return key === null ? [] : [[key, textAt(entry, 'value') ?? '']];
  });
  return [
    {
      name,
      command: [...textsAt(value, 'command'), ...textsAt(value, 'args')],
      env: new Map(env),
      preStop: preStopOf(at(value, 'lifecycle', 'preStop')),
      memoryLimit: limit('memory'),
      memoryRequest: request('memory'),
      storageLimit: limit('ephemeral-storage'),
      storageRequest: request('ephemeral-storage'),
      accelerators: acceleratorsIn(at(value, 'resources', 'limits')),
    },
  ];
}

/**
 * Whether a resource is an accelerator. Extended resources have their vendor’s domain. Training
 * uses the countable ones: GPUs, TPUs and the like.
 */
export function isAccelerator(resource: string): boolean {
  return /^[^/]+\/.*(gpu|tpu|neuron|gaudi|mig-)/i.test(resource);
}

function acceleratorsIn(limits: unknown): number {
  const counted = Object.entries(fieldsOf(limits)).filter(([name]) => isAccelerator(name));
  return counted.reduce((sum, [, quantity]) => sum + Math.max(0, parseQuantity(quantity) ?? 0), 0);
}

function preStopOf(value: unknown): PreStop | null {
  const seconds = numberAt(value, 'sleep', 'seconds');
  if (seconds !== null) return { kind: 'sleep', seconds };
  if (at(value, 'exec') !== undefined) return { kind: 'exec', seconds: sleptSeconds(textsAt(value, 'exec', 'command')) };
  if (at(value, 'httpGet') !== undefined) return { kind: 'http', seconds: null };
  return at(value, 'tcpSocket') === undefined ? null : { kind: 'tcp', seconds: null };
}

/**
 * The duration of `sleep 15` and `sh -c "sleep 15"`, the usual hooks; null for any other command.
 */
function sleptSeconds(command: readonly string[]): number | null {
  const match = /^(?:(?:\/bin\/|\/usr\/bin\/)?(?:ba|da)?sh -c )?(?:\/bin\/|\/usr\/bin\/)?sleep (\d{1,6})s?$/.exec(command.join(' ').trim());
  return match === null ? null : Number(match[1]);
}

function emptyDirOf(value: unknown): readonly EmptyDir[] {
  const [name, volume] = [textAt(value, 'name'), at(value, 'emptyDir')];
  if (name === null || volume === undefined) return [];
  return [{ name, isMemory: textAt(volume, 'medium') === 'Memory', sizeLimit: parseQuantity(at(volume, 'sizeLimit')) }];
}

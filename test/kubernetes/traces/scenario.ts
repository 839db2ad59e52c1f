import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse } from 'yaml';
import { BASE_IMAGE } from '../cluster/runtime.ts';
import type { Timing } from './reduce.ts';

const FOLDER = join(import.meta.dirname, 'scenarios');

/**
 * An action on the cluster after a fact was seen. `{namespace}`, `{node}` and `{pod 1}` stand for
 * the names of this play.
 */
export interface Step {
  /** A fact in the words of `facts.ts`: `pod 1: ready`. Without it the step runs at once. */
  readonly when?: string;
  readonly create?: ManifestObject;
  readonly delete?: string;
  /** How a deletion treats the objects of the deleted owner; by default `Background`. */
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan';
  readonly evict?: string;
  readonly refusedEviction?: string;
  readonly patch?: { readonly object: string; readonly with: unknown };
  readonly remove?: { readonly path: string };
  /** An action on the scenario's own node. */
  readonly node?: NodeDeed;
  /**
   * A command line of kubectl, as text, or as a list if words contain spaces. Its exit code and
   * output are part of the trace.
   */
  readonly kubectl?: string | readonly string[];
  /** The manifest on its standard input, for `-f -`. */
  readonly input?: unknown;
  /** Keeps only output lines that match. The other lines differ in every play. */
  readonly lines?: string;
}

export const NODE_DEEDS = ['fill disk', 'announce shutdown', 'run short of memory', 'stop kubelet', 'start kubelet', 'lose power'] as const;
export type NodeDeed = (typeof NODE_DEEDS)[number];

/** One description file. */
export interface Scenario {
  readonly name: string;
  readonly title: string;
  readonly objects: readonly ManifestObject[];
  readonly steps: readonly Step[];
  /** The play is over when all of these facts were seen; of an inner list, one is enough. */
  readonly until: readonly (string | readonly string[])[];
  /** Pairs of facts: the first comes before the second, by the store's revision. */
  readonly order: readonly (readonly [string, string])[];
  /** Pairs of facts with the least time between them that is promised. */
  readonly seconds: readonly Timing[];
  /** Whether it has a node of its own, `{node}`, because it acts on the node. */
  readonly ownNode: boolean;
  /** Whether it takes minutes. Such a scenario is recorded and never played by a test. */
  readonly isLong: boolean;
  /**
   * The race that its facts depend on, if there is one. Such a scenario is recorded and never
   * played by a test.
   */
  readonly chance: string | null;
}

export interface ManifestObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

interface Written extends Partial<Omit<Scenario, 'name' | 'isLong' | 'chance'>> {
  readonly long?: boolean;
  readonly chance?: string;
}

const FIELDS = new Set(['title', 'objects', 'steps', 'until', 'order', 'seconds', 'ownNode', 'long', 'chance']);
const STEP_FIELDS = new Set([
  ...['when', 'create', 'delete', 'propagation', 'evict', 'refusedEviction', 'patch', 'remove'],
  ...['node', 'kubectl', 'input', 'lines'],
]);

export function scenarioNames(): string[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => basename(name, '.yaml'))
    .sort();
}

export function readScenario(name: string): Scenario {
  return parseScenario(name, readFileSync(join(FOLDER, `${name}.yaml`), 'utf8'));
}

/** Refuses unknown words, because a misspelt one would record something else. */
function parseScenario(name: string, text: string): Scenario {
  const written = parse(text) as Written;
  refuseUnknown(name, written);
  const { title, objects = [], steps = [], until = [], order = [], seconds = [] } = written;
  const hasEnd = until.length > 0 || steps.some(({ kubectl }) => kubectl !== undefined);
  if (title === undefined || objects.length + steps.length === 0 || !hasEnd)
    throw new Error(`${name}: a scenario needs title, objects or steps, and until or kubectl`);
  const whole = { objects: objects.map(expanded), steps: steps.map(expanded) };
  return { name, title, ...whole, until, order, seconds, ...mannerOf(written) };
}

function mannerOf({ ownNode = false, long: isLong = false, chance }: Written): Pick<Scenario, 'ownNode' | 'isLong' | 'chance'> {
  return { ownNode, isLong, chance: chance ?? null };
}

function refuseUnknown(name: string, written: Written): void {
  const { steps = [] } = written;
  const unknown = [...unknownOf(written, FIELDS), ...steps.flatMap((step) => unknownOf(step, STEP_FIELDS))];
  if (unknown.length > 0) throw new Error(`${name}: not known: ${unknown.join(', ')}`);
  const deed = steps.find(({ node }) => node !== undefined && !NODE_DEEDS.includes(node))?.node;
  if (deed !== undefined) throw new Error(`${name}: ${deed}: what is done to a node is one of ${NODE_DEEDS.join(', ')}`);
}

/** A short form of its actions. A trace with other actions is out of date. */
export function deedsOf({ objects, steps, ownNode }: Scenario): string {
  return createHash('sha256').update(JSON.stringify({ objects, steps, ownNode })).digest('hex').slice(0, 12);
}

/** Whether a test may play it: it is short and depends on no race. */
export function isReplayed({ isLong, chance }: Scenario): boolean {
  return !isLong && chance === null;
}

function unknownOf(fields: object, known: ReadonlySet<string>): readonly string[] {
  return Object.keys(fields).filter((field) => !known.has(field));
}

/**
 * Completes the pods: a container with a `script` becomes a whole one, ready when the script has
 * made the file /ready.
 */
function expanded<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(expanded) as Value;
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.fromEntries(Object.entries(value).map(([key, each]) => [key, expanded(each)]));
  if ('containers' in fields) return { automountServiceAccountToken: false, terminationGracePeriodSeconds: 30, ...fields } as Value;
  const { script, ...others } = fields;
  return (typeof script === 'string' ? { ...container(script), ...others } : fields) as Value;
}

function container(script: string): object {
  const probe = { exec: { command: ['/busybox/test', '-e', '/ready'] }, periodSeconds: 1 };
  return {
    name: 'main',
    image: BASE_IMAGE,
    imagePullPolicy: 'Never',
    command: ['/busybox/sh', '-c', `export PATH=/busybox\n${script}`],
    ...(script.includes('/ready') ? { readinessProbe: probe } : {}),
  };
}

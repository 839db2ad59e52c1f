import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse } from 'yaml';
import { BASE_IMAGE } from '../cluster/runtime.ts';
import type { Timing } from './reduce.ts';

const FOLDER = join(import.meta.dirname, 'scenarios');

/** What is done to the cluster once something has been seen. `{namespace}`, `{node}`, `{pod 1}` in it are names of this play. */
export interface Step {
  /** A fact, as `facts.ts` tells it: `pod 1: ready`; without it, at once. */
  readonly when?: string;
  readonly create?: ManifestObject;
  readonly delete?: string;
  /** What becomes of those whose owner is deleted; by default `Background`. */
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan';
  readonly evict?: string;
  readonly refusedEviction?: string;
  readonly patch?: { readonly object: string; readonly with: unknown };
  readonly remove?: { readonly path: string };
  /** What is done to the scenario's own node. */
  readonly node?: NodeDeed;
  /** What somebody types; words with blanks in them as a list. How it ends, and what it says, is part of the trace. */
  readonly kubectl?: string | readonly string[];
  /** The manifest on its standard input, for `-f -`. */
  readonly input?: unknown;
  /** Only lines like this: what else it says is other every time. */
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
  /** It is over when all of these have been seen; of a list among them, one is enough. */
  readonly until: readonly (string | readonly string[])[];
  /** The first comes before the second, by the revision of the store. */
  readonly order: readonly (readonly [string, string])[];
  /** How long it takes from one to the other, and what is promised at least. */
  readonly seconds: readonly Timing[];
  /** Has a node to itself, `{node}`: something is done to it. */
  readonly ownNode: boolean;
  /** Takes minutes: only recorded, never played again by a test. */
  readonly isLong: boolean;
  /** What the race is about, when what is said of it hangs on one: then it is only recorded. */
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

/** Refuses what it does not know: a word that is spelled wrongly would record something else. */
export function parseScenario(name: string, text: string): Scenario {
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

/** What is done, in short: a trace of something else is no trace of it. */
export function deedsOf({ objects, steps, ownNode }: Scenario): string {
  return createHash('sha256').update(JSON.stringify({ objects, steps, ownNode })).digest('hex').slice(0, 12);
}

/** Whether a test may play it again: it is short, and what is said of it holds every time. */
export function isReplayed({ isLong, chance }: Scenario): boolean {
  return !isLong && chance === null;
}

function unknownOf(fields: object, known: ReadonlySet<string>): readonly string[] {
  return Object.keys(fields).filter((field) => !known.has(field));
}

/** Fills in what all pods here have in common: a container with a `script` becomes a whole one, ready when the script has made the file /ready. */
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

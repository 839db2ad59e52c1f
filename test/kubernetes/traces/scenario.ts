import { readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse } from 'yaml';
import { BASE_IMAGE } from '../cluster/runtime.ts';

const FOLDER = join(import.meta.dirname, 'scenarios');

/** What is done to the cluster once something has been seen. */
export interface Step {
  /** A fact, as `facts.ts` tells it: `pod 1: ready`. */
  readonly when: string;
  readonly delete?: string;
  /** What becomes of those whose owner is deleted; by default `Background`. */
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan';
  readonly evict?: string;
  readonly refusedEviction?: string;
  readonly patch?: { readonly object: string; readonly with: unknown };
  readonly remove?: { readonly path: string };
}

/** One description file. */
export interface Scenario {
  readonly name: string;
  readonly title: string;
  readonly objects: readonly ManifestObject[];
  readonly steps: readonly Step[];
  /** It is over when all of these have been seen. */
  readonly until: readonly string[];
  /** The first comes before the second, by the revision of the store. */
  readonly order: readonly (readonly [string, string])[];
  /** How long it takes from one to the other. */
  readonly seconds: readonly (readonly [string, string])[];
  /** Takes minutes: only recorded, never played again by a test. */
  readonly isLong: boolean;
}

export interface ManifestObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

interface Written extends Partial<Omit<Scenario, 'name' | 'isLong'>> {
  readonly long?: boolean;
}

const FIELDS = new Set(['title', 'objects', 'steps', 'until', 'order', 'seconds', 'long']);

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
  const unknown = Object.keys(written).filter((field) => !FIELDS.has(field));
  if (unknown.length > 0) throw new Error(`${name}: not known: ${unknown.join(', ')}`);
  const { title, objects = [], steps = [], until = [], order = [], seconds = [], long: isLong = false } = written;
  if (title === undefined || objects.length === 0 || until.length === 0)
    throw new Error(`${name}: a scenario needs title, objects and until`);
  return { name, title, objects: objects.map(expanded), steps, until, order, seconds, isLong };
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

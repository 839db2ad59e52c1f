import type { Rng } from '../../../src/core/rng.ts';
import { maybe, several, shuffled } from './check.ts';
import type { Step } from './merge-model.ts';
import type { Fields, SCHEMAS, Value } from './merge-schema.ts';

export type Kind = keyof typeof SCHEMAS;

const MANAGERS = ['alice', 'bob', 'carol'] as const;
const MEMBERS = ['a', 'b', 'c'] as const;

/** A random next step on an object in this state. */
export function someStep(rng: Rng, kind: Kind, live: Fields): Step {
  const how =
    rng.next() < 0.05 ? 'update-forgetting' : rng.pick(['apply', 'apply', 'apply', 'apply-by-force', 'update', 'update'] as const);
  const wanted = someObject(rng, kind);
  // Most updating clients have read the object first and change a part of it.
  const object = how.startsWith('update') && rng.next() < 0.6 ? blended(live, wanted, rng) : wanted;
  return {
    do: how,
    manager: rng.pick(MANAGERS),
    object: { ...object, metadata: { ...(object['metadata'] as Fields | undefined), name: 'one' } },
  };
}

function someObject(rng: Rng, kind: Kind): Fields {
  const metadata = {
    ...maybe(rng, 0.4, () => ({ labels: someMap(rng) })),
    ...maybe(rng, 0.4, () => ({ finalizers: somewhere(rng, MEMBERS).map((each) => `example.com/${each}`) })),
  };
  if (kind === 'ConfigMap') return { metadata, ...maybe(rng, 0.8, () => ({ data: someMap(rng) })) };
  const spec = {
    ...maybe(rng, 0.8, () => ({ containers: somewhere(rng, ['main', 'side']).map((name) => someContainer(rng, name)) })),
    ...maybe(rng, 0.3, () => ({ nodeSelector: someMap(rng) })),
    ...maybe(rng, 0.3, () => ({ tolerations: several(rng.integer(1, 2), () => ({ key: rng.pick(MEMBERS), operator: 'Exists' })) })),
    ...maybe(rng, 0.3, () => ({ volumes: somewhere(rng, MEMBERS).map((name) => ({ name, ...maybe(rng, 0.7, () => someVolume(rng)) })) })),
    ...maybe(rng, 0.3, () => ({ priorityClassName: rng.pick(['high', 'low']) })),
  };
  return { metadata, ...(Object.keys(spec).length === 0 ? {} : { spec }) };
}

function someContainer(rng: Rng, name: string): Fields {
  const amounts = (): Fields => ({ ...maybe(rng, 0.6, () => ({ cpu: rng.pick(['1', '2']) })), memory: rng.pick(['1Gi', '2Gi']) });
  return {
    name,
    ...maybe(rng, 0.6, () => ({ image: rng.pick(['train:1', 'train:2']) })),
    ...maybe(rng, 0.3, () => ({ args: several(rng.integer(1, 2), () => rng.pick(['--fast', '--slow'])) })),
    ...maybe(rng, 0.4, () => ({ ports: somewhere(rng, [80, 443]).map((port) => somePort(rng, port)) })),
    ...maybe(rng, 0.4, () => ({ env: somewhere(rng, MEMBERS).map((each) => ({ name: each, value: rng.pick(['0', '1']) })) })),
    ...maybe(rng, 0.4, () => ({
      resources: { ...maybe(rng, 0.7, () => ({ limits: amounts() })), ...maybe(rng, 0.4, () => ({ requests: amounts() })) },
    })),
  };
}

function somePort(rng: Rng, containerPort: number): Fields {
  return {
    containerPort,
    ...maybe(rng, 0.7, () => ({ protocol: rng.pick(['TCP', 'TCP', 'UDP']) })),
    ...maybe(rng, 0.5, () => ({ name: rng.pick(['web', 'metrics']) })),
    ...maybe(rng, 0.2, () => ({ hostPort: rng.pick([80, 8080]) })),
  };
}

function someVolume(rng: Rng): Fields {
  return { emptyDir: maybe(rng, 0.5, () => ({ medium: 'Memory' })) ?? {} };
}

function someMap(rng: Rng): Fields {
  return Object.fromEntries(somewhere(rng, MEMBERS).map((key) => [key, String(rng.integer(0, 1))]));
}

/** Some of the items, at least one, in random order. */
function somewhere<Item>(rng: Rng, items: readonly Item[]): Item[] {
  return shuffled(items, rng).slice(0, rng.integer(1, items.length));
}

/** An object with some fields of each of the two. */
function blended(live: Fields, other: Fields, rng: Rng): Fields {
  const keys = [...new Set([...Object.keys(live), ...Object.keys(other)])].sort();
  return Object.fromEntries(
    keys.flatMap((key): (readonly [string, Value])[] => {
      const [ours, theirs] = [live[key], other[key]];
      if (isFields(ours) && isFields(theirs) && rng.next() < 0.7) return [[key, blended(ours, theirs, rng)]];
      const taken = rng.next() < 0.75 ? ours : theirs;
      return taken === undefined ? [] : [[key, taken]];
    }),
  );
}

function isFields(value: Value | undefined): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** How values of a type are merged: whole, by name, or item by item. */
export type Schema =
  | { readonly is: 'leaf' }
  /** The type names its fields. */
  | { readonly is: 'struct'; readonly fields: Readonly<Record<string, Schema>> }
  /** The object itself names the keys. */
  | { readonly is: 'map' }
  /** A list of unique texts. */
  | { readonly is: 'set' }
  /**
   * A list of structs that some of their fields identify. `assumed` gives the values of fields that
   * are missing.
   */
  | { readonly is: 'list'; readonly keys: readonly string[]; readonly assumed: Readonly<Record<string, Value>>; readonly of: Schema };

export type Value = string | number | null | readonly Value[] | { readonly [key: string]: Value };
export type Fields = Readonly<Record<string, Value>>;

/** Numbers, texts, and atomic maps and lists, which are merged as a whole. */
const LEAF: Schema = { is: 'leaf' };
const MAP: Schema = { is: 'map' };

const struct = (fields: Readonly<Record<string, Schema>>): Schema => ({ is: 'struct', fields });
const named = (fields: Readonly<Record<string, Schema>>): Schema => ({
  is: 'list',
  keys: ['name'],
  assumed: {},
  of: struct({ name: LEAF, ...fields }),
});

const METADATA = struct({ name: LEAF, labels: MAP, finalizers: { is: 'set' } });
const PORTS: Schema = {
  is: 'list',
  keys: ['containerPort', 'protocol'],
  assumed: { protocol: 'TCP' },
  of: struct({ containerPort: LEAF, protocol: LEAF, name: LEAF, hostPort: LEAF }),
};
const CONTAINERS = named({
  image: LEAF,
  args: LEAF,
  ports: PORTS,
  env: named({ value: LEAF }),
  resources: struct({ limits: MAP, requests: MAP }),
});

/** The parts of two kinds that the random cases use. */
export const SCHEMAS = {
  ConfigMap: struct({ metadata: METADATA, data: MAP }),
  Pod: struct({
    metadata: METADATA,
    spec: struct({
      containers: CONTAINERS,
      nodeSelector: LEAF,
      tolerations: LEAF,
      volumes: named({ emptyDir: struct({ medium: LEAF }) }),
      priorityClassName: LEAF,
    }),
  }),
} as const satisfies Readonly<Record<string, Schema>>;

/** A part of a value: its path as Kubernetes writes it, its content and its type. */
export interface Part {
  readonly path: string;
  readonly value: Value | undefined;
  readonly schema: Schema;
  /** Whether it is an item of a list. An item can be owned itself, besides its fields. */
  readonly isItem: boolean;
}

/**
 * The parts of a value by their path. Empty for an empty value, and for one that is merged as a
 * whole.
 */
export function partsOf({ path, value, schema }: Part): ReadonlyMap<string, Part> {
  if (schema.is === 'set' || schema.is === 'list') {
    const items = ((value ?? []) as readonly Value[]).map((item): Part => {
      const of: Schema = schema.is === 'list' ? schema.of : LEAF;
      return { path: `${path}[${keyOf(item, schema)}]`, value: item, schema: of, isItem: true };
    });
    return new Map(items.map((item) => [item.path, item]));
  }
  if (schema.is === 'leaf') return new Map();
  return new Map(
    Object.entries((value ?? {}) as Fields).map(([key, inner]) => {
      const place = `${path}.${key}`;
      const of = schema.is === 'struct' ? (schema.fields[key] as Schema) : LEAF;
      return [place, { path: place, value: inner, schema: of, isItem: false }];
    }),
  );
}

/** Builds the value again from other parts, in their order; null when there are none. */
export function withParts({ path, schema }: Part, parts: readonly Part[]): Value {
  if (parts.length === 0) return null;
  if (schema.is === 'set' || schema.is === 'list') return parts.map(({ value }) => value as Value);
  return Object.fromEntries(parts.map((part) => [part.path.slice(path.length + 1), part.value as Value]));
}

function keyOf(item: Value, schema: Schema): string {
  if (schema.is !== 'list') return `=${JSON.stringify(item)}`;
  const fields = item as Fields;
  return schema.keys.map((key) => `${key}=${JSON.stringify(fields[key] ?? schema.assumed[key])}`).join(',');
}

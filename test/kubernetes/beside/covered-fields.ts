import type { KubeObject } from '../cluster/api.ts';
import type { BesideJob } from './jobs.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Every field of a kind's spec by v1's own definition, without those of pods and of metrics. */
export function definedFields(definition: KubeObject | null): readonly string[] {
  const { versions } = (definition?.spec ?? {}) as {
    readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: Fields } }[];
  };
  const schema = versions[0]?.schema.openAPIV3Schema as { readonly properties: { readonly spec: Schema } };
  return fieldsOf(schema.properties.spec, '');
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
}

/** These hold objects of Kubernetes. */
const ENDS = new Set(['template', 'metrics', 'minResources']);

function fieldsOf({ properties, items, additionalProperties }: Schema, path: string): readonly string[] {
  const named = Object.entries(properties ?? {}).flatMap(([name, schema]) => {
    const own = path === '' ? name : `${path}.${name}`;
    return ENDS.has(name) ? [own] : [own, ...fieldsOf(schema, own)];
  });
  return [...named, ...[items, additionalProperties].flatMap((schema) => (schema === undefined ? [] : fieldsOf(schema, `${path}.*`)))];
}

/** The fields that a manifest sets, as {@link definedFields} names them. */
export function setFields({ spec }: BesideJob): readonly string[] {
  return given(spec, '');
}

function given(value: unknown, path: string): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((each) => given(each, `${path}.*`));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) => {
    // The roles are keys of a map.
    const own = path.endsWith('ReplicaSpecs') ? `${path}.*` : path === '' ? name : `${path}.${name}`;
    return ENDS.has(name) ? [own] : [own, ...given(each, own)];
  });
}

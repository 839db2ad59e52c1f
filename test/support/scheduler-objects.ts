type Fields = Readonly<Record<string, unknown>>;

/** A Node object for tests, with room for 110 pods by default. */
export function node(name: string, amounts: Readonly<Record<string, string>>, spec: Fields = {}, labels: Fields = {}): Fields {
  const allocatable = { memory: '64Gi', pods: '110', ...amounts };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { 'kubernetes.io/hostname': name, ...labels } },
    spec,
    status: { allocatable },
  };
}

/**
 * A Pod object for tests. `status` and `metadata` stay at the top level; other fields go into the
 * spec.
 */
export function pod(
  name: string,
  requests: Readonly<Record<string, string>>,
  { status, metadata, ...spec }: { readonly status?: Fields; readonly metadata?: Fields } & Fields = {},
): Fields {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', ...metadata },
    spec: { containers: [{ name: 'main', image: 'main', resources: { requests } }], ...spec },
    status: status ?? {},
  };
}

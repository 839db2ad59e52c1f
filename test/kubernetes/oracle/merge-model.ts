import { type Fields, type Part, type Schema, type Value, partsOf, withParts } from './merge-schema.ts';

export type Paths = ReadonlySet<string>;

export interface Step {
  /** `update-forgetting` is an update that drops the record of the owners. */
  readonly do: 'apply' | 'apply-by-force' | 'update' | 'update-forgetting';
  readonly manager: string;
  readonly object: Fields;
}

/** The state of an object: its fields, and the owners of each, as `manager/Operation`. */
export interface State {
  readonly object: Fields;
  readonly owned: Readonly<Record<string, Paths>>;
}

export const NOTHING: State = { object: {}, owned: {} };

/** The fields that identify the object; they have no owner. */
const IDENTITY: Paths = new Set(['.metadata', '.metadata.name']);

/** The result of one step in our model. */
export function believed(state: State, step: Step, schema: Schema): { readonly state: State; readonly conflicts: readonly string[] } {
  const isUpdate = step.do === 'update' || step.do === 'update-forgetting';
  return isUpdate ? { state: updated(state, step, schema), conflicts: [] } : applied(state, step, schema);
}

/**
 * An updating manager owns the fields that it changed or added, and all others lose them. Fields
 * that it removed are gone for all managers. Once no manager owns any field, updates are not
 * recorded until the next apply.
 */
function updated(state: State, { do: how, manager, object: wanted }: Step, schema: Schema): State {
  const { object, owned } = state;
  const isForgotten = how === 'update-forgetting' || Object.keys(owned).length === 0;
  if (state !== NOTHING && isForgotten) return { object: wanted, owned: {} };
  const { touched, removed } = compared(root(object, schema), root(wanted, schema));
  const left = without(owned, new Set([...touched, ...removed]));
  const mine = `${manager}/Update`;
  return { object: wanted, owned: owners({ ...left, [mine]: new Set([...(left[mine] ?? []), ...touched]) }) };
}

function applied(
  state: State,
  { manager, object: config, do: how }: Step,
  schema: Schema,
): { readonly state: State; readonly conflicts: readonly string[] } {
  const mine = `${manager}/Apply`;
  const { [mine]: before = new Set<string>(), ...others } = withSomebody(state, schema);
  const now = fieldsOf(root(config, schema));
  const claimed = new Set([...now, ...Object.values(others).flatMap((paths) => [...paths])]);
  // A field that the manager applied before and omits now is removed, unless another manager owns
  // it.
  const dropped = new Set([...before].filter((path) => !claimed.has(path)));
  const merged = root(mergedValue(root(state.object, schema), root(config, schema)) as Fields, schema);
  const object = (pruned(merged, dropped, claimed) ?? {}) as Fields;
  const { touched, removed } = compared(root(state.object, schema), root(object, schema));
  // A field is listed once for each of its owners.
  const conflicts = Object.values(others).flatMap((paths) => [...paths].filter((path) => touched.has(path)));
  if (conflicts.length > 0 && how === 'apply') return { state, conflicts: conflicts.sort() };
  return { state: { object, owned: owners({ ...without(others, new Set([...touched, ...removed])), [mine]: now }) }, conflicts: [] };
}

/** Fields from before the first recorded owner belong to one manager of this name. */
function withSomebody({ object, owned }: State, schema: Schema): State['owned'] {
  if (Object.keys(owned).length > 0) return owned;
  return owners({ 'before-first-apply/Update': compared(root({}, schema), root(object, schema)).touched });
}

function root(object: Fields, schema: Schema): Part {
  return { path: '', value: object, schema, isItem: false };
}

function without(owned: State['owned'], paths: Paths): State['owned'] {
  return Object.fromEntries(Object.entries(owned).map(([who, own]) => [who, new Set([...own].filter((path) => !paths.has(path)))]));
}

/** A manager without fields is not listed. */
function owners(owned: State['owned']): State['owned'] {
  return Object.fromEntries(Object.entries(without(owned, IDENTITY)).filter(([, own]) => own.size > 0));
}

/** Whether the value is merged as a whole, or has nothing in it. */
function isWhole({ value, schema }: Part): boolean {
  return schema.is === 'leaf' || value === undefined || value === null || Object.keys(value).length === 0;
}

/**
 * The fields that an applied configuration owns: its leaves and its list items. A map or list with
 * content is not owned itself, and neither is an empty list.
 */
function fieldsOf(part: Part): Paths {
  const inner = [...partsOf(part).values()].flatMap((each) => [...fieldsOf(each)]);
  const isEmptyList = (part.schema.is === 'set' || part.schema.is === 'list') && inner.length === 0;
  const isOwn = part.isItem || (isWhole(part) && !isEmptyList);
  return new Set(isOwn && part.path !== '' ? [part.path, ...inner] : inner);
}

/**
 * Which parts changed or are new, and which are gone. A new or removed part counts with everything
 * in it, including the maps and lists.
 */
function compared(before: Part, after: Part): { readonly touched: Paths; readonly removed: Paths } {
  const [touched, removed] = [new Set<string>(), new Set<string>()];
  const walk = (old: Part | undefined, now: Part | undefined): void => {
    const { path } = (now ?? old) as Part;
    const isLeaf = (old === undefined || isWhole(old)) && (now === undefined || isWhole(now));
    if (old === undefined) touched.add(path);
    else if (now === undefined) removed.add(path);
    else if (isLeaf && JSON.stringify(sorted(old.value)) !== JSON.stringify(sorted(now.value))) touched.add(path);
    if (isLeaf) return;
    const [oldParts, nowParts] = [innerOf(old), innerOf(now)];
    for (const place of new Set([...oldParts.keys(), ...nowParts.keys()])) walk(oldParts.get(place), nowParts.get(place));
  };
  walk(before, after);
  return { touched, removed };
}

function innerOf(part: Part | undefined): ReadonlyMap<string, Part> {
  return part === undefined ? new Map() : partsOf(part);
}

function sorted(value: Value | undefined): unknown {
  if (Array.isArray(value)) return value.map((each) => sorted(each as Value));
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(value).sort(([first], [second]) => (first < second ? -1 : 1));
}

/** Merges two parts. If both have a value, the second one's value wins. */
function mergedValue(live: Part, config: Part): Value {
  if (config.schema.is === 'leaf' || (isWhole(live) && isWhole(config))) return config.value as Value;
  const [ours, theirs] = [partsOf(live), partsOf(config)];
  const order = mergedOrder([...ours.keys()], [...theirs.keys()]);
  return withParts(
    config,
    order.map((place) => {
      const [our, their] = [ours.get(place), theirs.get(place)];
      return our === undefined || their === undefined ? ((their ?? our) as Part) : { ...their, value: mergedValue(our, their) };
    }),
  );
}

/**
 * Keeps the order of the second list. An item that only the first list has stays in front of the
 * item that it preceded.
 */
function mergedOrder(live: readonly string[], config: readonly string[]): readonly string[] {
  const shared = config.filter((place) => live.includes(place));
  const order: string[] = [];
  let at = 0;
  for (const place of config) {
    for (; at < live.length && live[at] !== place; at++) {
      const ahead = live[at] as string;
      if (!config.includes(ahead)) order.push(ahead);
      else if (shared.length === 0 || shared[0] === ahead) break;
    }
    if (at < live.length && (live[at] === place || order.includes(live[at] as string))) at++;
    order.push(place);
    if (shared[0] === place) shared.shift();
  }
  return [...order, ...live.slice(at).filter((place) => !config.includes(place))];
}

/**
 * The part without the dropped fields, and without parents that this leaves empty. A parent that
 * any manager owns, or has owned a part of, stays as null.
 */
function pruned(part: Part, dropped: Paths, claimed: Paths): Value | undefined {
  if (dropped.has(part.path) && (part.isItem || isWhole(part))) return undefined;
  if (isWhole(part)) return part.value;
  const parts = [...partsOf(part).values()];
  const left = parts.flatMap((each) => {
    const value = pruned(each, dropped, claimed);
    return value === undefined ? [] : [{ ...each, value }];
  });
  const isClaimed = (): boolean =>
    [...claimed].some((path) => path === part.path || path.startsWith(`${part.path}.`) || path.startsWith(`${part.path}[`));
  return left.length > 0 || isClaimed() ? withParts(part, left) : undefined;
}

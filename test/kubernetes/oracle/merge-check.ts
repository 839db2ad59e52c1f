import type { Rng } from '../../../src/core/rng.ts';
import { type Case, type OracleCheck, canonical, refusal, several } from './check.ts';

type Data = Readonly<Record<string, string>>;

interface Step {
  readonly do: 'apply' | 'apply-by-force' | 'update';
  readonly manager: string;
  readonly data: Data;
}

/** What is known of an object: its fields, and who owns which, by `manager/Operation`. */
interface State {
  readonly data: Data;
  readonly owned: Readonly<Record<string, readonly string[]>>;
}

interface StepVerdict {
  readonly conflicts?: readonly string[];
  readonly error?: string;
  readonly object: { readonly data?: Data };
  readonly owned: Readonly<Record<string, readonly string[]>>;
}

const MANAGERS = ['alice', 'bob', 'carol'] as const;
const KEYS = ['a', 'b', 'c', 'd'] as const;
const NOTHING: State = { data: {}, owned: {} };

/** Server-side apply on a flat object: who may change what, who owns what, and what goes when nobody wants it any more. */
export const MERGE_CHECK: OracleCheck = {
  name: 'merge',
  about:
    'server-side apply: a history of one flat object (a ConfigMap) with three managers who apply, apply by force and update: after every step its fields, who owns which, and what is refused',
  makeCase(rng): Case {
    const steps = several(rng.integer(1, 7), () => someStep(rng));
    // The last step twice: the second time nothing may change.
    const last = steps.at(-1) as Step;
    const all = [...steps, { ...last, do: last.do === 'apply' ? ('apply-by-force' as const) : last.do }];
    const again = [...all, all.at(-1) as Step];
    return {
      questions: [{ merge: { apiVersion: 'v1', kind: 'ConfigMap', steps: again.map(asked) } }],
      disagreements: ([answer]) => {
        const why = refusal(answer);
        return why === null ? differences(again, (answer as { readonly steps: readonly StepVerdict[] }).steps) : [`refused: ${why}`];
      },
      outcome: ([answer]) => {
        const { steps: verdicts } = answer as { readonly steps: readonly StepVerdict[] };
        return verdicts.some(({ conflicts = [] }) => conflicts.length > 0) ? 'a step was refused for a conflict' : 'no step was refused';
      },
    };
  },
};

function someStep(rng: Rng): Step {
  const kind = rng.pick(['apply', 'apply', 'apply', 'apply-by-force', 'update'] as const);
  const data = Object.fromEntries(KEYS.filter(() => rng.next() < 0.5).map((key) => [key, String(rng.integer(0, 2))]));
  return { do: kind, manager: rng.pick(MANAGERS), data };
}

function asked({ data, ...step }: Step): unknown {
  return { ...step, object: { metadata: { name: 'one' }, ...(Object.keys(data).length === 0 ? {} : { data }) } };
}

function differences(steps: readonly Step[], verdicts: readonly StepVerdict[]): readonly string[] {
  let state = NOTHING;
  for (const [index, step] of steps.entries()) {
    const verdict = verdicts[index];
    const expected = believed(state, step);
    state = expected.state;
    const real = [verdict?.conflicts ?? [], verdict?.error ?? null, verdict?.object.data ?? {}, leavesOf(verdict?.owned ?? {})];
    const ours = [expected.conflicts, null, state.data, leavesOf(state.owned)];
    if (canonical(real) !== canonical(ours))
      return [`after ${canonical(steps.slice(0, index + 1))} it is ${canonical(real)}, we believed ${canonical(ours)}`];
  }
  return [];
}

/** Only the fields of the data: others, such as an empty map, are nobody's business here. Who owns nothing is not there. */
function leavesOf(owned: State['owned']): State['owned'] {
  const kept = Object.entries(owned).map(([who, paths]) => [who, paths.filter((path) => path.startsWith('.data.')).sort()] as const);
  return Object.fromEntries(kept.filter(([, paths]) => paths.length > 0));
}

/** What we believe of one step. */
function believed(state: State, step: Step): { readonly state: State; readonly conflicts: readonly string[] } {
  return step.do === 'update' ? { state: updated(state, step), conflicts: [] } : applied(state, step);
}

/** Whoever updates owns what he changed or added, and nobody else does any more; what he took away is gone for all. */
function updated({ data, owned }: State, { manager, data: wanted }: Step): State {
  const changed = pathsOf(wanted, (key) => data[key] !== wanted[key]);
  const gone = pathsOf(data, (key) => wanted[key] === undefined);
  const left = without(owned, [...changed, ...gone]);
  const mine = `${manager}/Update`;
  return { data: wanted, owned: { ...left, [mine]: [...(left[mine] ?? []), ...changed] } };
}

function applied(
  { data, owned }: State,
  { manager, data: wanted, do: how }: Step,
): { readonly state: State; readonly conflicts: readonly string[] } {
  const mine = `${manager}/Apply`;
  const others = Object.fromEntries(Object.entries(owned).filter(([who]) => who !== mine));
  const ownedByOthers = new Set(Object.values(others).flat());
  const contested = pathsOf(wanted, (key) => data[key] !== undefined && data[key] !== wanted[key] && ownedByOthers.has(`.data.${key}`));
  // A field is named once for each of its owners.
  const conflicts = contested.flatMap((path) => Object.values(others).flatMap((own) => (own.includes(path) ? [path] : []))).sort();
  if (conflicts.length > 0 && how === 'apply') return { state: { data, owned }, conflicts };
  const left = without(others, contested);
  const now = pathsOf(wanted, () => true);
  // What he wanted before and wants no more goes, unless somebody else owns it.
  const wantedBySomebody = new Set([...now, ...Object.values(left).flat()]);
  const dropped = new Set((owned[mine] ?? []).filter((path) => !wantedBySomebody.has(path)));
  const kept = Object.entries(data).filter(([key]) => !dropped.has(`.data.${key}`));
  return { state: { data: { ...Object.fromEntries(kept), ...wanted }, owned: { ...left, [mine]: now } }, conflicts: [] };
}

function pathsOf(data: Data, isMeant: (key: string) => boolean): string[] {
  return Object.keys(data)
    .filter((key) => isMeant(key))
    .map((key) => `.data.${key}`);
}

function without(owned: State['owned'], paths: readonly string[]): State['owned'] {
  return Object.fromEntries(Object.entries(owned).map(([who, own]) => [who, own.filter((path) => !paths.includes(path))]));
}

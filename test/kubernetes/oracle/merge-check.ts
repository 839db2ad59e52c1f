import { type Case, type OracleCheck, RELEASES, canonical, refusal } from './check.ts';
import { type Kind, someStep } from './merge-cases.ts';
import { NOTHING, type State, type Step, believed } from './merge-model.ts';
import { type Fields, SCHEMAS } from './merge-schema.ts';

interface StepVerdict {
  readonly conflicts?: readonly string[];
  readonly error?: string;
  readonly object: Fields;
  readonly owned: Readonly<Record<string, readonly string[]>>;
}

/** A step, and the result that our model expects. */
interface Believed {
  readonly step: Step;
  readonly state: State;
  readonly conflicts: readonly string[];
}

/** Server-side apply: who may change a field, who owns it, and when it is removed. */
export const MERGE_CHECK: OracleCheck = {
  name: 'merge',
  releases: RELEASES,
  about:
    'server-side apply: a history of one object (a Pod with containers, their ports, environment and resources, volumes, labels, finalizers and what is merged whole; or a ConfigMap) with three managers who apply, apply by force and update, and now and then take away the record of who owns what: after every step all its fields in their order, who owns which, and what is refused',
  makeCase(rng): Case {
    const kind: Kind = rng.pick(['Pod', 'Pod', 'Pod', 'ConfigMap']);
    const history: Believed[] = [];
    const take = (step: Step): void => {
      history.push({ step, ...believed(history.at(-1)?.state ?? NOTHING, step, SCHEMAS[kind]) });
    };
    const count = rng.integer(1, 7);
    while (history.length < count) take(someStep(rng, kind, history.at(-1)?.state.object ?? {}));
    // Repeats the last step twice. The second repetition must change nothing. The first one may,
    // because it empties what an apply has left as null.
    const { step: last } = history.at(-1) as Believed;
    const again: Step = { ...last, do: last.do === 'apply' ? 'apply-by-force' : last.do };
    for (let times = 0; times < 3; times++) take(again);
    const stays = canonical(told(history.at(-1) as Believed)) === canonical(told(history.at(-2) as Believed));
    return {
      questions: [{ merge: { apiVersion: 'v1', kind, steps: history.map(({ step }) => step) } }],
      disagreements: ([answer]) => {
        const why = refusal(answer);
        if (why !== null) return [`refused: ${why}`];
        const differing = differences(history, (answer as { readonly steps: readonly StepVerdict[] }).steps);
        return stays ? differing : [...differing, 'the same step changes something again and again'];
      },
      outcome: ([answer]) => {
        const { steps: verdicts } = answer as { readonly steps: readonly StepVerdict[] };
        return verdicts.some(({ conflicts = [] }) => conflicts.length > 0) ? 'a step was refused for a conflict' : 'no step was refused';
      },
    };
  },
};

function differences(history: readonly Believed[], verdicts: readonly StepVerdict[]): readonly string[] {
  for (const [index, expected] of history.entries()) {
    const { conflicts = [], error = null, object, owned } = verdicts[index] ?? { object: {}, owned: {} };
    const { apiVersion: _, kind: __, ...fields } = object;
    const real: Readonly<Record<string, unknown>> = { conflicts, error, object: fields, ...owned };
    const ours = told(expected);
    const differing = [...new Set([...Object.keys(real), ...Object.keys(ours)])].filter(
      (of) => canonical(real[of]) !== canonical(ours[of]),
    );
    if (differing.length === 0) continue;
    const both = differing.map((of) => `${of} is ${canonical(real[of])}, we believed ${canonical(ours[of])}`);
    const before = index === 0 ? {} : told(history[index - 1] as Believed);
    return [`step ${index}, ${canonical(expected.step)}, on ${canonical(before)}: ${both.join('; ')}`];
  }
  return [];
}

function told({ state: { object, owned }, conflicts }: Believed): Readonly<Record<string, unknown>> {
  return { conflicts, error: null, object, ...Object.fromEntries(Object.entries(owned).map(([who, paths]) => [who, [...paths].sort()])) };
}

import type { TextRule } from '../../engine/rule.ts';
import type { Hit } from '../../source/finding.ts';
import type { Source } from '../../source/source.ts';

/** A Pod whose shell runs a command of kubectl. */
const POD = (command: string): string => `
apiVersion: v1
kind: Pod
spec:
  restartPolicy: Never
  containers:
    - name: watcher
      image: kubectl
      command: [sh, -c, '${command}']
`;

/** Where a pattern stands, without lines that are comments. */
function placesOf({ text }: Source, pattern: RegExp): readonly { readonly at: Hit['at']; readonly groups: Record<string, string> }[] {
  return [...text.matchAll(pattern)].flatMap((match) => {
    const line = text.slice(text.lastIndexOf('\n', match.index) + 1, match.index);
    if (/^\s*#/.test(line)) return [];
    return [{ at: { from: match.index, to: match.index + match[0].length }, groups: match.groups ?? {} }];
  });
}

/** The scheduler's event has another reason than its action. */
export const preemptingIsNoReason: TextRule = {
  code: 'EVENT_REASON_PREEMPTING',
  severity: 'warning',
  on: 'text',
  title: 'No event of a scheduler preemption has the reason Preempting',
  why: 'The event on a pod that the scheduler preempts has the reason `Preempted`, and `Preempting` is only its action. The reason `Preempting` is that of a kubelet which makes room for a critical pod. The event also has no lastTimestamp, so a list sorted by it is in no order.',
  fix: 'Ask for reason=Preempted, sorted by .metadata.creationTimestamp; or ask `holdfast why`.',
  bad: { manifest: POD('kubectl get events --field-selector reason=Preempting') },
  good: { manifest: POD('kubectl get events --field-selector reason=Preempted --sort-by=.metadata.creationTimestamp') },
  check(source) {
    return placesOf(source, /\breason==?["']?Preempting\b/g).map(({ at }) => ({
      at,
      message: 'This finds no preemption by the scheduler: the reason of its event is Preempted.',
      edits: [{ from: at.to - 'Preempting'.length, to: at.to, text: 'Preempted' }],
    }));
  },
};

const REASON = '(?<reason>(?:PyTorch|TF|MPI|XGBoost|Paddle|JAX)Job(?<type>Created|Running|Restarting|Succeeded|Suspended|Failed))\\b';
const NAMED = new RegExp(
  `--for[= ]["']?condition=["']?${REASON}|\\btype["'\\])]*\\s*={1,3}\\s*["']${REASON.replaceAll('?<', '?<of')}`,
  'gi',
);

/** What looks like the type of a condition is its reason. */
export const conditionIsReason: TextRule = {
  code: 'CONDITION_NEVER_TRUE',
  severity: 'error',
  on: 'text',
  title: 'The reason of a condition is taken for its type',
  why: 'The conditions of a PyTorchJob have the types Created, Running, Restarting, Succeeded, Suspended and Failed. Names such as `PyTorchJobSucceeded` are their reasons. A wait for a condition of that name never ends, and a program that looks for that type never sees the end of the job.',
  fix: 'Use the type, such as --for=condition=Succeeded.',
  bad: { manifest: POD('kubectl wait --for=condition=PyTorchJobSucceeded pytorchjob/train') },
  good: { manifest: POD('kubectl wait --for=condition=Succeeded pytorchjob/train') },
  check(source) {
    return placesOf(source, NAMED).map(({ at, groups }) => {
      const [reason, type] = [groups['reason'] ?? groups['ofreason'] ?? '', groups['type'] ?? groups['oftype'] ?? ''];
      const edits = [{ from: at.to - reason.length, to: at.to, text: type }];
      return { at, message: `No condition has the type ${reason}: that is a reason, and the type is ${type}.`, edits };
    });
  },
};

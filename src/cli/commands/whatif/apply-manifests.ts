import { HoldfastError } from '../../../core/errors.ts';
import { excerpt, printable } from '../../../core/printable.ts';
import type { DumpProblem } from '../../../kube/objects/dump-limits.ts';
import { readDump } from '../../../kube/objects/read-dump.ts';
import { type ApplyAnswer, answerApply } from '../../../whatif/apply/answer.ts';
import { type Explanation, explainPod } from '../../../whatif/apply/explain.ts';
import { problemLine, standardInput } from '../../cluster/read-state.ts';
import { readWorld, type WorldSource } from './read-world.ts';

/** What was asked on the command line. */
export interface ApplyQuestion extends WorldSource {
  readonly file: string | null;
  readonly replicas: number | null;
  readonly namespace: string | null;
  readonly explain: string | null;
}

/** The answer, and what of the input could not be read. */
export interface AppliedManifests {
  readonly answer: ApplyAnswer;
  readonly explanation: Explanation | null;
  readonly from: string;
  readonly version: string;
  readonly nowMs: number;
  readonly problems: readonly DumpProblem[];
}

/** Reads the manifests and the cluster, and works out the answer. */
export async function applyManifests(question: ApplyQuestion): Promise<AppliedManifests> {
  const { file, replicas, snapshot, signal, explain } = question;
  if (file === null) {
    throw new HoldfastError('USAGE', { message: 'no manifest is given', hint: 'Run holdfast whatif apply -f inference.yaml.' });
  }
  if (file === '-' && snapshot === '-') {
    throw new HoldfastError('USAGE', { message: '-f and --snapshot both read standard input', hint: 'Give one of them as a file.' });
  }
  const manifests = readDump([file], file === '-' ? await standardInput(signal) : '');
  const [first] = manifests.problems;
  if (manifests.objects.length === 0) {
    throw new HoldfastError('DUMP_NOT_READABLE', {
      message: first === undefined ? `${printable(file)} holds no Kubernetes object` : problemLine(first),
    });
  }
  const { world, from, namespace, problems } = await readWorld(question);
  const answer = answerApply(world, manifests.objects, { namespace: question.namespace ?? namespace, replicas });
  return {
    answer,
    explanation: explain === null ? null : explanationOf(answer, explain),
    from,
    version: world.version,
    nowMs: world.nowMs,
    problems: [...manifests.problems, ...problems],
  };
}

function explanationOf(answer: ApplyAnswer, wanted: string): Explanation {
  const found = explainPod(answer, wanted);
  if (found !== null) return found;
  const known = answer.pods.map(({ pod }) => pod.name);
  throw new HoldfastError('OBJECT_NOT_FOUND', {
    message: `the manifest makes no pod ${excerpt(wanted, 80)}`,
    hint: `It makes ${known.slice(0, 8).join(', ')}${known.length > 8 ? ` and ${known.length - 8} more` : ''}.`,
  });
}

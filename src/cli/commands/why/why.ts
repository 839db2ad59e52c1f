import { type Millis, parseDuration } from '../../../core/duration.ts';
import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { CLUSTER_OPTIONS } from '../../cluster/cluster-options.ts';
import { defineCommand } from '../../frame/command.ts';
import { someText } from '../../frame/option-values.ts';

/** The command `holdfast why`. */
export const why = defineCommand({
  description:
    'Finds the cause that ended a training pod, with the evidence for it and against similar causes. Shows what was saved and lost, whether a save would have fitted the grace, and the one setting to change. Reads a cluster, a dump of one, or the ledger of a run, and changes nothing. Says CANNOT_TELL, and what is missing, when the evidence is gone.',
  operand: {
    name: 'TARGET',
    description:
      'pod/NAME, job/NAME, pytorchjob/NAME …, or the folder of a run; with -f also more files; without a target, every end found',
    count: 'any',
    complete: 'paths',
  },
  options: {
    ...CLUSTER_OPTIONS,
    'all-namespaces': { kind: 'flag', short: 'A', description: 'All namespaces' },
    run: { kind: 'value', value: 'RUN', parse: someText('the folder of the run'), description: 'The folder of the run, for its ledger' },
    since: {
      kind: 'value',
      value: 'TIME',
      parse: (text: string): ReturnType<typeof parseDuration> => parseDuration(text),
      description: 'Summarize every interruption of that time (7d), with the settings that would have saved most',
    },
    all: { kind: 'flag', description: 'The whole answer for every end, not only the newest' },
  },
  examples: [
    { line: 'why job/train -n ml', description: 'What ended the pods of this Job?' },
    { line: 'why pod/train-0 --run=/runs/gpt2', description: 'With the ledger of its run, which records the cost' },
    { line: 'why runs/gpt2', description: 'From the ledger alone, without a cluster' },
    { line: 'why -f dump.json job/train', description: 'From kubectl get pods,jobs,events,nodes -o json' },
    { line: 'why --since=7d -A', description: 'Every interruption of the week' },
  ],

  async run({ values, operands, output, clock, signal, whileBusy }): Promise<ExitCode> {
    const { findAnswers } = await import('./find-answers.ts');
    const since: Millis | null = values.since;
    const found = await findAnswers({
      operands,
      file: values.file,
      run: values.run,
      since,
      source: {
        kubeconfig: values.kubeconfig,
        context: values.context,
        namespace: values.namespace,
        isAllNamespaces: values['all-namespaces'],
        clock,
        signal,
        whileBusy,
      },
    });
    const { showAnswers } = await import('./show-answers.ts');
    await whileBusy(() => showAnswers(found, { output, isAll: values.all, nowMs: clock.now() }));
    if (found.answers.length === 0) return EXIT.nothing;
    if (found.problems.length > 0) return EXIT.partly;
    return found.since === null && found.answers[0]?.judgement.cause === 'CANNOT_TELL' ? EXIT.no : EXIT.ok;
  },
});

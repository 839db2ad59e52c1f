import { type Millis, parseDuration } from '../../../core/duration.ts';
import { HoldfastError } from '../../../core/errors.ts';
import { EXIT, type ExitCode } from '../../../core/exit-codes.ts';
import { type Parsed, parsed, refused } from '../../../core/parsed.ts';
import { excerpt, printable } from '../../../core/printable.ts';
import { defineCommand } from '../../frame/command.ts';
import { someText } from '../../frame/option-values.ts';

function absolute(text: string): Parsed<string> {
  return text.startsWith('/') ? parsed(text) : refused(`"${excerpt(text, 60)}" is not a path in the container that begins with /`);
}

/** The command `holdfast adopt`. */
export const adopt = defineCommand({
  description:
    'Prints a manifest with everything that a supervised run needs: the command under holdfast run, a podFailurePolicy for its exit codes, the grace, the volumes and the limits. It adapts a Job, a CronJob, a PyTorchJob, or a bare Pod, which becomes a Job. It prints every other object unchanged. It applies nothing and writes no file: pipe the output into kubectl apply -f -. The image must contain holdfast.',
  operand: null,
  options: {
    file: { kind: 'value', short: 'f', value: 'FILE', parse: someText('the file'), description: 'The manifest, or - for standard input' },
    dir: {
      kind: 'value',
      value: 'RUN',
      parse: absolute,
      description: 'The folder of the run in the container, if the manifest names none',
    },
    claim: {
      kind: 'value',
      value: 'NAME',
      parse: someText('the claim'),
      description: 'The PersistentVolumeClaim for the run (default: the mounted one, or a new one in the output)',
    },
    grace: {
      kind: 'value',
      value: 'TIME',
      parse: (text: string): Parsed<Millis> => parseDuration(text),
      description: 'The time from SIGTERM to SIGKILL (default: as in the manifest, or 2m)',
    },
    ship: { kind: 'value', value: 'URL', parse: someText('the address'), description: 'Also copy sealed checkpoints to this bucket' },
  },
  examples: [
    { line: 'adopt -f job.yaml', description: 'Print the manifest of a supervised run' },
    { line: 'adopt -f job.yaml --claim=runs --grace=5m', description: 'Use an existing claim, with five minutes of grace' },
  ],

  async run({ values, output, signal, whileBusy }): Promise<ExitCode> {
    if (values.file === null)
      throw new HoldfastError('USAGE', { message: 'no manifest was given', hint: 'Give it with -f, or - for standard input.' });
    const [{ gather }, library] = await Promise.all([import('../../inputs/gather.ts'), import('../../../lint/adopt/adopt.ts')]);
    const { sources, skips } = await gather([values.file], process.stdin, { signal, whileBusy });
    const [source] = sources;
    if (source === undefined || sources.length > 1) {
      throw new HoldfastError('PATH_NOT_SUPPORTED', {
        message: `${excerpt(values.file, 200)} is not one manifest${skips[0] === undefined ? '' : `: ${skips[0].message}`}`,
      });
    }
    const { dir, claim, ship, grace } = values;
    const graceSeconds = grace === null ? null : Math.ceil(grace / 1000);
    const adopted = await whileBusy(() => library.adopt(source.text, { dir, claim, ship, graceSeconds }));
    const { text, notes, findings } = adopted;
    if (output.json)
      output.printJson({
        schema: 'holdfast.adopt/1',
        manifest: text,
        adopted: adopted.adopted,
        notes,
        findings: findings.map(({ code, message }) => ({ code, message })),
        skipped: adopted.skips.map(({ kind, message }) => ({ kind, message })),
      });
    else output.print(text.trimEnd());
    for (const note of notes) output.note(printable(note));
    for (const { message, start } of adopted.skips)
      output.note(`line ${start.line} was not understood and stays as it is: ${printable(message)}`);
    for (const { code, message } of findings) output.note(`for you to decide: ${code}: ${printable(message)}`);
    if (adopted.skips.length > 0) return EXIT.partly;
    return adopted.adopted > 0 ? EXIT.ok : EXIT.nothing;
  },
});

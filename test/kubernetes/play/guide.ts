import { join } from 'node:path';
import { quoted } from '../../../src/cli/frame/completion/model.ts';
import { ROOT } from '../../support/run-process.ts';
import { EXAMPLES } from '../scenario/example.ts';

interface Play {
  readonly version: string;
  readonly nodes: number;
  readonly folder: string;
  readonly kubectl: string;
  /** The folder of the examples' volume. */
  readonly runs: string;
  /** Its images, beside the example's. */
  readonly images: readonly string[];
  /** Why no trainer can run in its pods, or null. */
  readonly whyNoTrainers: string | null;
}

/** Quoted as a person would type it. */
const word = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : quoted(text));

/** The first lines about a new cluster. Every indented line can be copied. */
export function guide(play: Play): string {
  const { version, nodes, folder, kubectl, images } = play;
  return [
    `Kubernetes ${version} with ${nodes === 1 ? '1 node' : `${nodes} nodes`}, in ${folder}`,
    '',
    `    ${word(kubectl)} get nodes`,
    '',
    ...example(play),
    `Its pods reach each other and nothing else. Images are not pulled; it has ${images.join(', ')}. Other volumes are not made for claims.`,
    'Take it down: npm run cluster:real -- down',
    '',
  ].join('\n');
}

function example({ kubectl, runs, whyNoTrainers }: Play): readonly string[] {
  if (whyNoTrainers !== null) return [`The example cannot run on it: ${whyNoTrainers}`, ''];
  const [called, run] = [word(kubectl), word(join(runs, 'stdlib'))];
  return [
    'All that the example needs is there. It trains for 40 s and saves every 4 s; the second line shows what it says:',
    '',
    `    ${called} apply -k ${word(join(EXAMPLES, 'kubernetes'))}`,
    `    ${called} wait --for=jsonpath={.status.ready}=1 --timeout=2m job/stdlib && ${called} logs --follow job/stdlib`,
    '',
    'Meanwhile, from another terminal, delete its pod (or drain its node), and see it go on after the last good step:',
    '',
    `    ${called} delete pod --selector=job-name=stdlib`,
    `    ${word(join(ROOT, 'bin/holdfast'))} log --follow ${run}`,
    '',
    'To begin anew:',
    '',
    `    ${called} delete job stdlib && rm -r ${run}`,
    '',
  ];
}

import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { objects } from '../../../../test/support/cluster-objects.ts';
import { graceSubjects } from '../../../grace/grace-subjects.ts';
import { graceReport } from '../../../grace/grace-report.ts';
import { ClusterState } from '../../../kube/objects/cluster-state.ts';
import { createStyle } from '../../output/style.ts';
import { displayWidth } from '../../output/width.ts';
import { renderReport } from './show-reports.ts';

const style = createStyle({ stream: { isTTY: true }, env: {}, noColor: false });
const COMMANDS = [
  ['sh', '-c', 'python train.py | tee log'],
  ['torchrun', '--nproc-per-node=8', 'train.py'],
  ['holdfast', 'run', '--', 'python', 'train.py'],
];

/** The report about a pod with this command, without colours. */
function linesOf(command: readonly string[], saveMs: number | null, columns: number): readonly string[] {
  const pods = objects({ kind: 'Pod', metadata: { name: 'train' }, spec: { containers: [{ name: 't', command }] } });
  const [subject] = graceSubjects(pods, new ClusterState(pods), { cloud: 'gke-spot', deleteSeconds: null, kubelet: null });
  if (subject === undefined) throw new Error('there is no pod');
  const save = saveMs === null ? null : { ms: saveMs, from: '--save' };
  return renderReport(graceReport(subject.title, subject.pod, save), { style, columns, quiet: false }).map(stripVTControlCharacters);
}

describe('the report of grace', () => {
  it.each([80, 100, 110])('fits %i columns, also with two changes together', (columns) => {
    for (const command of COMMANDS) {
      const lines = [...linesOf(command, 45_000, columns), ...linesOf(command, null, columns)];
      expect(lines.filter((line) => displayWidth(line) > columns)).toEqual([]);
    }
  });

  it('suggests no change for a save that takes longer than a pod can wait', () => {
    expect(linesOf(['python', 'train.py'], 8_640_000_000, 100).join('\n')).not.toContain('change');
  });
});

import { counted } from '../../core/counted.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import type { FileSet, FileSetFormat } from '../reading/format.ts';

const LOCAL = /^(iter_\d{7,})_\d+_local\.pt$/;

/**
 * Local checkpoints of the NVIDIA resiliency extension: each rank's state on its own node, and
 * copies of a few other ranks'.
 */
export const nvrxLocal: FileSetFormat = {
  id: 'nvrx-local',
  title: 'NVRx local checkpoint',
  claim(directory) {
    return claim(directory);
  },
  inspect(set, directory, findings, probe) {
    for (const name of set.members) findings.merge(probe.inspectFile(directory, name, ['torch-zip', 'torch-legacy']).findings);
    const message = `the parts of ${counted(set.members.length, 'rank')} are here; the parts of the other ranks are on other nodes`;
    findings.add('NVRX_LOCAL_PART', { file: null, found: counted(set.members.length, 'rank') }, message);
  },
};

function claim(directory: Directory): readonly FileSet[] {
  const sets = new Map<string, string[]>();
  for (const { name } of directory.files(LOCAL)) {
    const iteration = LOCAL.exec(name)?.[1] ?? '';
    const members = sets.get(iteration);
    if (members === undefined) sets.set(iteration, [name]);
    else members.push(name);
  }
  return [...sets].map(([name, members]) => ({ name, members }));
}

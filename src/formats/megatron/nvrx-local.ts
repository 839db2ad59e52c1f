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
    const message = `the parts of ${set.members.length} ranks are here; the parts of the other ranks are on other nodes`;
    findings.add('NVRX_LOCAL_PART', { file: null, found: `${set.members.length} ranks` }, message);
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

import { printable } from '../../core/printable.ts';
import type { Findings } from '../reading/findings.ts';
import { isObject, parseJson } from '../../core/json.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import type { DirectoryFormat } from '../reading/format.ts';

const WEIGHTS = 'latest.weights.h5';
const METADATA = 'training_metadata.json';

/**
 * The folder of Keras' BackupAndRestore callback: weights with optimizer state, and where in
 * training they were taken.
 */
export const kerasBackup: DirectoryFormat = {
  id: 'keras-backup',
  title: 'Keras training backup',
  claims: (directory) =>
    directory.has(METADATA) || (directory.has(WEIGHTS) && (directory.has(`${WEIGHTS}.bkp`) || directory.has(`${METADATA}.bkp`))),
  inspect(directory, findings, probe) {
    findings.merge(probe.inspectFile(directory, WEIGHTS, ['hdf5']).findings);
    inspectMetadata(directory, findings);
  },
};

/** Without it Keras starts from nothing, and says nothing. */
function inspectMetadata(directory: Directory, findings: Findings): void {
  const file = directory.pathOf(METADATA);
  const text = directory.readText(METADATA, 64 * 1024);
  if (text === null) {
    findings.add('FILE_MISSING', { file }, `${printable(file)} is missing: Keras would start from nothing`);
    return;
  }
  const parsed = parseJson(text);
  const value = parsed.ok && isObject(parsed.value) ? parsed.value : null;
  if (typeof value?.['epoch'] === 'number' && typeof value['batch'] === 'number') return;
  const found = text === '' ? 'nothing' : printable(text.slice(0, 40));
  findings.add(
    'DOCUMENT_INVALID',
    { file, expected: 'epoch and batch', found },
    `${printable(file)} does not say where in training the backup was taken`,
  );
}

import type { Findings } from '../reading/findings.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import { dcp } from '../dcp/dcp.ts';
import type { DirectoryFormat, Probe } from '../reading/format.ts';
import { noteProgress, STEP_IN_NAME } from './lightning.ts';
import { checkNamedStep } from '../reading/named-step.ts';
import { readObject } from '../torch/torch-member.ts';

const META = 'meta.pt';

/**
 * A sharded checkpoint of Lightning or Fabric (FSDP, model parallel): torch's distributed
 * checkpoint, and `meta.pt` written after it.
 */
export const lightningSharded: DirectoryFormat = {
  id: 'lightning-sharded',
  title: 'Lightning checkpoint (sharded)',
  claims(directory) {
    const isSharded = directory.has('.metadata') || directory.files(/\.distcp$/).length > 0;
    return directory.has(META) ? isSharded || directory.name.endsWith('.ckpt') : isSharded && directory.name.endsWith('.ckpt');
  },
  inspect,
};

function inspect(directory: Directory, findings: Findings, probe: Probe): void {
  dcp.inspect(directory, findings, probe);
  if (!directory.has(META)) {
    const message = `${META} is missing: it is written last, so the save did not finish`;
    findings.add('FILE_MISSING', { file: directory.pathOf(META) }, message);
    return;
  }
  const { value } = readObject(directory, META, findings, probe);
  if (value !== undefined) noteProgress(value, directory.pathOf(META), findings);
  checkNamedStep(directory.name, STEP_IN_NAME, findings);
}

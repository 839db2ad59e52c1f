import type { Findings } from '../reading/findings.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import type { Probe } from '../reading/format.ts';
import { folders, membersNamed } from '../reading/members.ts';
import { type Place, reportMissing } from '../reading/numbering.ts';
import { safetensorsSharded } from '../safetensors/safetensors-sharded.ts';

/** Formats a file of weights may have. */
const WEIGHT_FORMATS = ['safetensors', 'torch-zip', 'torch-legacy'];

/** Weights in one file; a number for the second and further models of one Accelerator. */
const WHOLE = /^(model|pytorch_model|adapter_model|pytorch_model_fsdp)(?:_(\d+))?\.(safetensors|bin)$/;

/** FSDP weights that each rank wrote for itself. */
const OF_RANK = /^(pytorch_model_fsdp(?:_\d+)?)_rank(\d+)\.bin$/;

/** True for a name under which Trainer or Accelerate save weights. */
export function isWeightsName(name: string): boolean {
  return WHOLE.test(name) || OF_RANK.test(name) || /^(model\.safetensors|pytorch_model\.bin)\.index\.json$/.test(name);
}

/**
 * Inspects the weights of a trainer's checkpoint wherever they may lie, DeepSpeed's apart. False
 * when there are none.
 */
export function inspectWeights(directory: Directory, findings: Findings, probe: Probe): boolean {
  const place = { directory, findings };
  const found = [
    ...membersNamed(directory, WHOLE).map(({ name }) => inspectFile(place, name, probe)),
    ...safetensorsSharded.claim(directory).map((set) => {
      safetensorsSharded.inspect(set, directory, findings, probe);
      findings.content.add('weights', directory.pathOf(set.name));
    }),
    ...inspectRankFiles(place, probe),
    ...folders(directory)
      .filter(({ name }) => /^pytorch_model_fsdp_\d+$/.test(name))
      .map((folder) => inspectFolder(folder, 'weights', findings, probe)),
    ...folders(directory).flatMap((folder) => inspectAdapter(folder, findings, probe)),
  ];
  if (membersNamed(directory, /^adapter_model\.(safetensors|bin)$/).length > 0) requireFile(place, 'adapter_config.json');
  return found.length > 0;
}

/** A folder of FSDP state, written by torch's distributed checkpointing. */
export function inspectFolder(folder: Directory, need: 'weights' | 'optimizer', findings: Findings, probe: Probe): void {
  findings.content.add(need, folder.path);
  const member = probe.inspectDirectory(folder);
  if (member !== null) findings.mergeWithoutContent(member.findings);
  else findings.add('FILE_MISSING', { file: folder.pathOf('.metadata') }, `the folder ${folder.name} holds no distributed checkpoint`);
}

/** Reports a file that must lie beside others and does not. */
export function requireFile({ directory, findings }: Place, name: string, reason = 'the save is not complete without it'): void {
  if (!directory.has(name)) findings.add('FILE_MISSING', { file: directory.pathOf(name) }, `${name} is missing: ${reason}`);
}

function inspectFile({ directory, findings }: Place, name: string, probe: Probe): void {
  findings.mergeWithoutContent(probe.inspectFile(directory, name, WEIGHT_FORMATS).findings);
  findings.content.add('weights', directory.pathOf(name));
}

function inspectRankFiles(place: Place, probe: Probe): readonly string[] {
  const ranks = new Map<string, number[]>();
  for (const { name } of membersNamed(place.directory, OF_RANK)) {
    const [, stem = '', rank] = OF_RANK.exec(name) ?? [];
    const found = ranks.get(stem) ?? [];
    ranks.set(stem, found);
    found.push(Number(rank));
    inspectFile(place, name, probe);
  }
  for (const [stem, found] of ranks) {
    reportMissing(place, { found, expected: place.findings.content.worldSize, of: 'ranks', nameOf: (rank) => `${stem}_rank${rank}.bin` });
  }
  return [...ranks.keys()];
}

/** Each of several adapters lies in a folder of its own. */
function inspectAdapter(folder: Directory, findings: Findings, probe: Probe): readonly string[] {
  const place = { directory: folder, findings };
  const files = membersNamed(folder, /^adapter_model\.(safetensors|bin)$/).map(({ name }) => name);
  for (const name of files) inspectFile(place, name, probe);
  if (files.length > 0) requireFile(place, 'adapter_config.json');
  return files;
}

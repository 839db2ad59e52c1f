import { excerpt, printable } from '../../core/printable.ts';
import { Findings } from '../reading/findings.ts';
import { noteMegatronState } from './common-state.ts';
import { inspectIntegrity } from './integrity.ts';
import type { Directory } from '../../bytes/source/directory.ts';
import { openMember } from '../reading/open-member.ts';
import { holdsShards, inspectDcp } from '../dcp/dcp.ts';
import { readDocument } from '../reading/document.ts';
import type { DirectoryFormat, Probe } from '../reading/format.ts';
import { checkNamedStep } from '../reading/named-step.ts';
import { readObject } from '../torch/torch-member.ts';

const CONFIG = 'metadata.json';
const COMMON = 'common.pt';
const ITERATION = /^(?:iter_(\d{7,})|release)$/;

/**
 * One `iter_*` directory of Megatron's distributed checkpoints: a DCP directory with the common
 * state and a configuration beside it.
 */
export const megatronDist: DirectoryFormat = {
  id: 'megatron-dist',
  title: 'Megatron distributed checkpoint',
  claims(directory) {
    const isCommitted = directory.has('.metadata') || holdsShards(directory);
    if (ITERATION.test(directory.name)) return isCommitted || directory.has(COMMON) || directory.entries.size === 0;
    return isCommitted && (directory.has(COMMON) || namesBackend(directory));
  },
  inspect,
};

function namesBackend(directory: Directory): boolean {
  const source = openMember(directory, CONFIG, new Findings());
  return source?.read(0, 4096).includes('"sharded_backend"') ?? false;
}

function inspect(directory: Directory, findings: Findings, probe: Probe): void {
  const payload = new Map<string, number>();
  if (!inspectConfig(directory, findings)) return;
  const hasCommonState = inspectShards(directory, findings, payload);
  if (directory.has(COMMON)) {
    const before = findings.payloadBytes;
    const file = directory.pathOf(COMMON);
    noteMegatronState(readObject(directory, COMMON, findings, probe).value, file, findings);
    payload.set(file, findings.payloadBytes - before);
  } else if (!hasCommonState && directory.has(CONFIG)) {
    const message = 'there is neither a file common.pt nor an object common_state: iteration and arguments are missing';
    findings.add('MEGATRON_NO_COMMON', { file: directory.pathOf(COMMON) }, message);
  }
  if (!directory.has(CONFIG) && (directory.has(COMMON) || hasCommonState)) {
    const message = `${printable(directory.pathOf(CONFIG))} is missing: it is written after the shards, and the loader needs it`;
    findings.add('MEGATRON_NO_CONFIG', { file: directory.pathOf(CONFIG) }, message);
  }
  checkNamedStep(directory.name, ITERATION, findings);
  inspectIntegrity(directory, findings, payload);
}

/** False when the shards are of a kind that is not read. */
function inspectConfig(directory: Directory, findings: Findings): boolean {
  const config = directory.has(CONFIG) ? readDocument(directory, CONFIG, findings) : null;
  const backend = config?.['sharded_backend'];
  if (backend === undefined || backend === 'torch_dist') return true;
  const file = directory.pathOf(CONFIG);
  const found = excerpt(JSON.stringify(backend));
  findings.add('MEGATRON_BACKEND_UNKNOWN', { file, expected: 'torch_dist', found }, `${printable(file)} names the backend ${found}`);
  return false;
}

/** True when the common state is among the shards. */
function inspectShards(directory: Directory, findings: Findings, payload: Map<string, number>): boolean {
  let hasCommonState = false;
  inspectDcp(directory, findings, {
    onShard: (file, bytes) => payload.set(file, bytes),
    onObject: (name, value, file) => {
      if (!/^common_state(\/|$)/.test(name)) return;
      hasCommonState = true;
      noteMegatronState(value, file, findings);
    },
  });
  return hasCommonState;
}

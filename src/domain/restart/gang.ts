import { type Parsed, parsed, refused } from '../../core/parsed.ts';
import { excerpt } from '../../core/printable.ts';

/**
 * The gang as one node sees it: the supervisors of all nodes that run one trainer together, over
 * one shared folder.
 */
export interface Gang {
  /** The same for all nodes of the job. */
  readonly id: string;
  readonly nodes: number;
  /** The rank of this node; 0 leads. */
  readonly nodeRank: number;
}

/** The values of the command line; null: not given. */
export interface GangWish {
  readonly gang: string | null;
  readonly nodes: number | null;
  readonly nodeRank: number | null;
}

type Environment = Readonly<Record<string, string | undefined>>;

const MAX_ID = 120;
/** The job name when the scheduler sets none: the shared folder alone identifies the gang. */
const NAMELESS = 'run';

/**
 * Reads the nodes of this run. The command line comes first, then Holdfast's own variables. Then
 * come the variables of torchrun and the training operator: `PET_…`, and `WORLD_SIZE`, `RANK`
 * beside `MASTER_ADDR` outside any launcher. Null: this node alone. The reason of a refusal is a
 * whole sentence.
 */
export function gangOf(wish: GangWish, env: Environment): Parsed<Gang | null> {
  const said = [wish.nodes ?? countOf(env, 'HOLDFAST_NODES'), wish.nodeRank ?? countOf(env, 'HOLDFAST_NODE_RANK')] as const;
  const [nodes, nodeRank] = said[0] === null ? fromScheduler(env, said[1]) : [said[0], said[1] ?? rankFromScheduler(env)];
  if (nodes === null || nodes === 1) return parsed(null);
  if (nodeRank === null)
    return refused(`${nodes} nodes take part, but the rank of this node is unknown: give --node-rank, from 0 to ${nodes - 1}`);
  if (nodes < 1 || nodeRank >= nodes) return refused(`node rank ${nodeRank} is not one of 0…${nodes - 1} (--nodes, --node-rank)`);
  const id = wish.gang ?? textOf(env, 'HOLDFAST_GANG', 'TORCHELASTIC_RUN_ID', 'PET_RDZV_ID', 'MASTER_ADDR') ?? NAMELESS;
  if (id.length > MAX_ID) return refused(`a gang id has at most ${MAX_ID} characters, not ${id.length}: "${excerpt(id, 40)}"`);
  return parsed({ id, nodes, nodeRank });
}

/**
 * The nodes and node rank when the user gave no number of nodes; null unless the scheduler's
 * variables set both.
 */
function fromScheduler(env: Environment, said: number | null): readonly [number | null, number | null] {
  // An elastic range, "1:4", is no number: the number of nodes is unknown until they start.
  const nodes = countOf(env, 'PET_NNODES');
  const nodeRank = said ?? countOf(env, 'PET_NODE_RANK');
  if (nodes !== null && nodeRank !== null) return [nodes, nodeRank];
  const isInsideLauncher = env['LOCAL_RANK'] !== undefined || env['PET_NNODES'] !== undefined;
  if (isInsideLauncher || textOf(env, 'MASTER_ADDR') === null) return [null, null];
  const [world, rank] = [countOf(env, 'WORLD_SIZE'), said ?? countOf(env, 'RANK')];
  return rank === null ? [null, null] : [world, rank];
}

function rankFromScheduler(env: Environment): number | null {
  return countOf(env, 'PET_NODE_RANK') ?? countOf(env, 'JOB_COMPLETION_INDEX');
}

function countOf(env: Environment, name: string): number | null {
  const text = env[name] ?? '';
  return /^\d{1,6}$/.test(text) ? Number(text) : null;
}

function textOf(env: Environment, ...names: readonly string[]): string | null {
  return names.map((name) => env[name] ?? '').find((text) => text !== '') ?? null;
}

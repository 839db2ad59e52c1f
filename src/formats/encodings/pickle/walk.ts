import { LIMITS } from '../../../core/hostile-limits.ts';
import type { ByteSource } from '../../../bytes/source/byte-source.ts';
import type { PickleConsumer } from './consumer.ts';
import { PickleCursor } from './cursor.ts';
import { PickleFailure } from './pickle-failure.ts';
import type { GlobalRecord } from './global-register.ts';
import { PickleMachine } from './machine.ts';
import { OP } from './opcodes.ts';
import { OPERATIONS, type Walk } from './operations.ts';
import { recalledIndexes } from './recalled.ts';
import type { PicklePersistent, PickleValue } from './value.ts';

/** The options of a walk over a pickle. */
export interface WalkOptions {
  /** Where in the source the pickle begins. */
  readonly start?: number;
  /**
   * Takes the content of large containers during the walk; the pickle may then be as long as
   * `STREAM_LIMITS` allow.
   */
  readonly consumer?: PickleConsumer;
}

/** Bounds of a walk with a consumer: an index of a million chunks takes half of them. */
const STREAM_LIMITS = { bytes: 384 * 1024 * 1024, opcodes: 160_000_000 } as const;
const TREE_LIMITS = { bytes: LIMITS.pickleBytes, opcodes: LIMITS.pickleOps } as const;

/** The result of a walk over a pickle. */
export interface PickleResult {
  /** The content of the pickle; undefined when the walk did not reach STOP. */
  readonly value: PickleValue | undefined;
  /** Offset in the source of the byte after STOP; null when the walk did not reach it. */
  readonly end: number | null;
  readonly protocol: number;
  /** Every name a load would import, with its strongest use. */
  readonly globals: readonly GlobalRecord[];
  /** Offsets where a load would call something other than an imported name. */
  readonly computedCalls: readonly number[];
  /** Every persistent id, in order. */
  readonly persistent: readonly PicklePersistent[];
  /**
   * Why the walk ended early; null when it reached STOP. Its message completes a sentence that
   * starts with "the pickle".
   */
  readonly failure: PickleFailure | null;
}

/**
 * Walks the opcodes of a pickle and describes its content. Nothing is imported, called or built. No
 * pickle can make the walk read more than `LIMITS.pickleBytes`, run more than `LIMITS.pickleOps`,
 * or exceed a fixed amount of memory. With a consumer, the walk reads the pickle twice, the first
 * time to learn which memo indexes it recalls.
 */
export function walkPickle(source: ByteSource, options: WalkOptions = {}): PickleResult {
  const { start = 0, consumer } = options;
  const limits = consumer === undefined ? TREE_LIMITS : STREAM_LIMITS;
  const cursor = () => new PickleCursor(source, start, limits.bytes);
  const streaming = consumer === undefined ? null : { consumer, recalled: recalledIndexes(cursor(), limits.opcodes) };
  const walk: Walk = { cursor: cursor(), machine: new PickleMachine(streaming), protocol: 0 };
  let value: PickleValue | undefined;
  let failure: PickleFailure | null = null;
  try {
    value = runToStop(walk, limits.opcodes);
  } catch (thrown) {
    if (!(thrown instanceof PickleFailure)) throw thrown;
    failure = thrown;
  }
  const { machine } = walk;
  return {
    value,
    end: failure === null ? walk.cursor.position : null,
    protocol: walk.protocol,
    globals: machine.globals.all,
    computedCalls: machine.globals.computedCalls,
    persistent: machine.persistent,
    failure,
  };
}

function runToStop(walk: Walk, mostOpcodes: number): PickleValue {
  const { cursor, machine } = walk;
  for (let count = 0; count < mostOpcodes; count++) {
    machine.offset = cursor.position;
    const code = cursor.u8();
    if (code === OP.STOP) return machine.pop();
    const operation = OPERATIONS[code];
    if (operation === undefined) throw machine.invalid(`has the byte 0x${code.toString(16).padStart(2, '0')} where an opcode should be`);
    operation(walk);
  }
  throw machine.limit(`has more than ${mostOpcodes} opcodes`);
}

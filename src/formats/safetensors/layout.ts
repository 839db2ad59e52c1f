import { excerpt } from '../../core/printable.ts';
import type { Findings } from '../reading/findings.ts';
import { SAFETENSORS_BITS } from './dtypes.ts';
import type { TensorInfo } from './header.ts';

/** The place of the data in the file, for evidence. */
export interface DataArea {
  readonly file: string;
  /** Offset of the first data byte in the file. */
  readonly start: number;
}

/**
 * Checks that the tensors lie back to back from the first data byte, each as long as its shape and
 * type require. Returns the end of the last tensor, as an offset from the start of the data.
 */
export function checkLayout(tensors: readonly TensorInfo[], area: DataArea, findings: Findings): number {
  const sorted = tensors.toSorted((a, b) => a.begin - b.begin || a.end - b.end);
  let expected = 0;
  for (const tensor of sorted) {
    checkSize(tensor, area, findings);
    if (tensor.begin !== expected) reportBreak(tensor, expected, area, findings);
    expected = Math.max(expected, tensor.end);
  }
  return expected;
}

function checkSize(tensor: TensorInfo, area: DataArea, findings: Findings): void {
  const name = excerpt(tensor.name);
  const bits = SAFETENSORS_BITS.get(tensor.dtype);
  if (bits === undefined) {
    findings.add(
      'SAFETENSORS_DTYPE_UNKNOWN',
      { file: area.file, found: excerpt(tensor.dtype) },
      `tensor ${name} has the element type ${excerpt(tensor.dtype)}, which is not one Holdfast knows, so its length was not checked`,
    );
    return;
  }
  const bytes = (elements(tensor.shape) * bits) / 8;
  const found = tensor.end - tensor.begin;
  if (found === bytes) return;
  findings.add(
    'SAFETENSORS_TENSOR_SIZE',
    { file: area.file, offset: fileOffset(tensor, area), expected: `${bytes} bytes`, found: `${found} bytes` },
    `tensor ${name} of type ${tensor.dtype} and shape [${excerpt(tensor.shape.join(', '))}] needs ${bytes} bytes, but its offsets span ${found}`,
  );
}

function reportBreak(tensor: TensorInfo, expected: number, area: DataArea, findings: Findings): void {
  const overlaps = tensor.begin < expected;
  const name = excerpt(tensor.name);
  findings.add(
    overlaps ? 'SAFETENSORS_OVERLAP' : 'SAFETENSORS_HOLE',
    { file: area.file, offset: fileOffset(tensor, area), expected: String(expected), found: String(tensor.begin) },
    overlaps
      ? `tensor ${name} begins at ${tensor.begin} of the data, before the one in front of it ends at ${expected}`
      : `tensor ${name} begins at ${tensor.begin} of the data, and nothing claims the bytes from ${expected} on`,
  );
}

function fileOffset(tensor: TensorInfo, area: DataArea): number {
  const offset = area.start + tensor.begin;
  return Number.isSafeInteger(offset) ? offset : area.start;
}

/** Product of the dimensions; a dimension of 0 gives 0 even if the others overflow. */
function elements(shape: readonly number[]): number {
  return shape.includes(0) ? 0 : shape.reduce((product, dimension) => product * dimension, 1);
}

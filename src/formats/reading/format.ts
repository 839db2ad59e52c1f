import type { Findings } from './findings.ts';
import type { ByteSource } from '../../bytes/source/byte-source.ts';
import type { Directory } from '../../bytes/source/directory.ts';

/**
 * What a reader is given besides the bytes: the way to read members with the readers of the table.
 */
export interface Probe {
  /**
   * Recognises and inspects a file that belongs to the checkpoint. A file that is missing, not
   * regular, unreadable or of no known format yields the evidence for that. `expect` names formats
   * the member may have; anything else is reported as FILE_UNRECOGNISED.
   */
  inspectFile(directory: Directory, name: string, expect?: readonly string[]): MemberFindings;
  /**
   * Like {@link inspectFile} for bytes that are a file of their own inside another (the HDF5 file
   * in a `.keras` archive).
   */
  inspectSource(source: ByteSource, expect?: readonly string[]): MemberFindings;
  /** Inspects a folder as a directory format, or null when none claims it. */
  inspectDirectory(directory: Directory): MemberFindings | null;
}

/** The findings about a file inside a checkpoint, and its format. */
export interface MemberFindings {
  /** Id of the format, null when the content was not recognised. */
  readonly format: string | null;
  readonly findings: Findings;
}

/**
 * Reads one file. Pure but for reading: no names are trusted, nothing is executed, every loop is
 * bounded.
 */
export interface FileFormat {
  readonly id: string;
  /** As shown to people: `PyTorch file (zip)`. */
  readonly title: string;
  /**
   * Names that promise this format; used only to judge a file whose content is of no known format.
   */
  readonly extensions: readonly string[];
  /** Decides from content: `head` is the first 4 KiB (or less, if the file is shorter). */
  recognise(head: Buffer, source: ByteSource): boolean;
  inspect(source: ByteSource, findings: Findings, probe: Probe): void;
}

/** Reads a directory that is one checkpoint. */
export interface DirectoryFormat {
  readonly id: string;
  readonly title: string;
  /**
   * True when the directory is a checkpoint of this format, whole or broken. From names, and small
   * reads where names do not suffice.
   */
  claims(directory: Directory): boolean;
  inspect(directory: Directory, findings: Findings, probe: Probe): void;
}

/**
 * Files of one directory that together are one checkpoint (`ckpt-5.index` and its data,
 * `ep1-ba10-rank{0..3}.pt`).
 */
export interface FileSet {
  /** Names the checkpoint: `ckpt-5`, `ep1-ba10`. */
  readonly name: string;
  readonly members: readonly string[];
}

/**
 * Finds and reads such sets. A directory may hold many; files in no set are left for other formats.
 */
export interface FileSetFormat {
  readonly id: string;
  readonly title: string;
  claim(directory: Directory): readonly FileSet[];
  inspect(set: FileSet, directory: Directory, findings: Findings, probe: Probe): void;
}

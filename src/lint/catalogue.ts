import type { Rule } from './engine/rule.ts';
import {
  elasticFilesByRank,
  handlerOutlivesGrace,
  resumeNotPassed,
  scriptFolderNotMounted,
  temporarySharedByPods,
} from './rules/cross/pairs.ts';
import { cronConcurrency, cronNoDeadline, cronNoTimeZone, cronZoneInSchedule } from './rules/manifest/cron.ts';
import { budgetBlocksDrains } from './rules/manifest/disruption-budget.ts';
import { elasticWithoutCheckpoint, elasticWithoutRestarts } from './rules/manifest/elastic.ts';
import { evictionDropsDefaults, softEvictionWithoutGrace } from './rules/manifest/kubelet.ts';
import { graceBeyondNode, graceMismatch, graceTooShort, preStopEatsGrace } from './rules/manifest/grace.ts';
import { jobDeadline } from './rules/manifest/job-deadline.ts';
import { jobNoDisruptionPolicy } from './rules/manifest/job-no-disruption-policy.ts';
import { jobPolicyOrder } from './rules/manifest/job-policy-order.ts';
import { jobRestartAlways, jobRestartOnFailure } from './rules/manifest/job-restart-policy.ts';
import { jobNoTtl, jobTtlZero } from './rules/manifest/job-ttl.ts';
import { livenessKillsSave, noMemoryLimit, noStorageLimit } from './rules/manifest/limits.ts';
import { barePod, envNotText, jobCannotShare } from './rules/manifest/pod.ts';
import { priorityEqual, priorityInvalidPolicy, priorityNeverIsNoShield, priorityPreemptsTraining } from './rules/manifest/priority.ts';
import { pytorchJobInvalid, pytorchJobOneWorkerEndsAll, pytorchJobRestart, pytorchJobTorchrun } from './rules/manifest/pytorchjob.ts';
import { rankOfPod } from './rules/manifest/pytorchjob-ranks.ts';
import { shellHidesSigterm, shellLosesExit, shellSyntaxInArgv, unknownVariable } from './rules/manifest/shell.ts';
import { spotNotTolerated, spotToleratedOnly, tolerationUnused } from './rules/manifest/spot.ts';
import {
  checkpointInContainer,
  checkpointOnEmptyDir,
  checkpointOnHostPath,
  claimOfOneNode,
  memoryBelowStaging,
  spotWithoutCopies,
} from './rules/manifest/storage.ts';
import { sweepBackoff } from './rules/manifest/sweep-backoff.ts';
import {
  launcherKillsFirst,
  torchrunEtcd,
  torchrunMaxRestarts,
  torchrunNoRdzvId,
  torchrunUnknownOption,
} from './rules/manifest/torchrun.ts';
import { lastEpochsNotSaved } from './rules/script/epochs.ts';
import {
  deletesFirst,
  emergencyNeverLoaded,
  renameWithoutSync,
  saveInPlace,
  sharedTemporary,
  temporaryElsewhere,
} from './rules/script/files.ts';
import {
  accelerateNeverResumes,
  huggingFaceKeepsOne,
  huggingFaceNeverResumes,
  huggingFaceSavesModel,
  lightningNeverResumes,
  lightningNoLast,
  lightningWeightsOnly,
} from './rules/script/frameworks.ts';
import { loadsNewestBlindly } from './rules/script/newest.ts';
import { allRanksWrite, modulePrefix, noBarrier, optimizerOnOneRank, samplerWithoutEpoch } from './rules/script/ranks.ts';
import {
  noSigtermHandler,
  sigtermExitsZero,
  sigtermIgnored,
  sigtermPolledPerEpoch,
  sigtermSavesInHandler,
} from './rules/script/sigterm.ts';
import {
  loadsPickle,
  neverResumes,
  onlyWeightsSaved,
  randomNotSaved,
  restoredBeforeDevice,
  seedAfterResume,
  stateNotLoaded,
  stateNotSaved,
} from './rules/script/state.ts';
import { suppressionInvalid } from './rules/suppression.ts';
import { conditionIsReason, preemptingIsNoReason } from './rules/text/kubectl.ts';

/** Every rule, in the order of the reference: manifests, scripts, both together. */
export const RULES: readonly Rule[] = [
  jobNoDisruptionPolicy,
  jobPolicyOrder,
  jobRestartAlways,
  jobRestartOnFailure,
  jobDeadline,
  jobTtlZero,
  jobNoTtl,
  sweepBackoff,
  cronConcurrency,
  cronNoTimeZone,
  cronNoDeadline,
  cronZoneInSchedule,
  pytorchJobRestart,
  pytorchJobTorchrun,
  pytorchJobOneWorkerEndsAll,
  pytorchJobInvalid,
  rankOfPod,
  torchrunUnknownOption,
  torchrunNoRdzvId,
  torchrunEtcd,
  torchrunMaxRestarts,
  elasticWithoutRestarts,
  elasticWithoutCheckpoint,
  launcherKillsFirst,
  shellHidesSigterm,
  shellLosesExit,
  shellSyntaxInArgv,
  unknownVariable,
  graceMismatch,
  graceTooShort,
  graceBeyondNode,
  preStopEatsGrace,
  checkpointOnEmptyDir,
  checkpointInContainer,
  checkpointOnHostPath,
  claimOfOneNode,
  spotWithoutCopies,
  memoryBelowStaging,
  noMemoryLimit,
  noStorageLimit,
  livenessKillsSave,
  spotNotTolerated,
  spotToleratedOnly,
  tolerationUnused,
  priorityInvalidPolicy,
  priorityNeverIsNoShield,
  priorityPreemptsTraining,
  priorityEqual,
  budgetBlocksDrains,
  softEvictionWithoutGrace,
  evictionDropsDefaults,
  barePod,
  envNotText,
  jobCannotShare,
  preemptingIsNoReason,
  conditionIsReason,
  sigtermExitsZero,
  sigtermSavesInHandler,
  sigtermPolledPerEpoch,
  sigtermIgnored,
  noSigtermHandler,
  saveInPlace,
  renameWithoutSync,
  sharedTemporary,
  temporaryElsewhere,
  emergencyNeverLoaded,
  deletesFirst,
  loadsNewestBlindly,
  stateNotSaved,
  stateNotLoaded,
  randomNotSaved,
  onlyWeightsSaved,
  neverResumes,
  lastEpochsNotSaved,
  restoredBeforeDevice,
  seedAfterResume,
  loadsPickle,
  samplerWithoutEpoch,
  allRanksWrite,
  noBarrier,
  modulePrefix,
  optimizerOnOneRank,
  huggingFaceNeverResumes,
  huggingFaceKeepsOne,
  huggingFaceSavesModel,
  lightningNeverResumes,
  lightningNoLast,
  lightningWeightsOnly,
  accelerateNeverResumes,
  scriptFolderNotMounted,
  resumeNotPassed,
  handlerOutlivesGrace,
  temporarySharedByPods,
  elasticFilesByRank,
  suppressionInvalid,
];

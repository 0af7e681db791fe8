// The create pipeline for every kind: metadata → admission → the kind's strategy → validation → store.
import { requiredValue } from '../../object/meta/field-error.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { alreadyExists, generateNameConflict, invalid } from '../../object/meta/status.ts';
import type { StoredRecord } from '../../store/store.ts';
import { visibleRecord } from '../caller/visibility.ts';
import { faultSubject, groupVersionOf, type ObjectWrite } from '../kinds/kind.ts';
import type { Call, VerbOutcome } from '../kinds/kit.ts';
import { checkCounts, checkSize } from '../kinds/object-limits.ts';
import { schemaErrors } from '../kinds/schema-errors.ts';
import { trackCreate } from '../meta/managers.ts';
import { fillNewMeta, timestamp, withoutDoubleOwners } from '../meta/object-meta.ts';
import { metaErrors } from '../meta/validate-meta.ts';
import { plainFailure, StatusFault } from '../request/status-fault.ts';
import { fromStoredText, storageKey, toStoredText } from '../wire/stored-text.ts';

export interface CreateOptions {
  dryRun: boolean;
  code?: number;
  /** The caller has already set managedFields. */
  keepsManagers?: boolean;
}

/** Same number as the real server; afterwards the client must try again. */
const generatedNameAttempts = 8;

export async function createObject(call: Call, submitted: KubeObject, options: CreateOptions): Promise<VerbOutcome> {
  const { generateName, name } = submitted.metadata;
  const { kind, kit } = call;
  checkCounts(submitted, { kind, name: name ?? '', before: undefined, limits: kit.limits });
  const generates = (name === undefined || name === '') && generateName !== undefined && generateName !== '';
  for (let attempt = 1; ; attempt++) {
    const object = generates ? structuredClone(submitted) : submitted;
    if (generates) object.metadata.name = generatedName(generateName, call.kit.randomness.nameSuffix());
    const outcome = await createNamed(call, object, options);
    if (!('takenBy' in outcome)) return outcome;
    const resource = { group: call.kind.group, resource: call.kind.plural };
    const taken = object.metadata.name as string;
    if (!generates) throw new StatusFault(alreadyExists(resource, taken, isGoing(call, outcome.takenBy)));
    if (attempt === generatedNameAttempts) throw new StatusFault(generateNameConflict(resource, taken, 1));
  }
}

/** 58 + 5 characters of suffix = 63, the longest label. */
const generatedPrefixLimit = 58;

function generatedName(prefix: string, suffix: string): string {
  return prefix.slice(0, generatedPrefixLimit) + suffix;
}

/** The answer to the create is the only answer that may contain hidden fields. */
function shownOnce({ kind, warnings }: Call, write: ObjectWrite, revision: number): { once?: KubeObject } {
  const once = kind.strategy.hidden?.once?.(write);
  if (once === undefined) return {};
  if (once.warning !== undefined) warnings.push(once.warning);
  const { metadata, kind: _kind, apiVersion: _apiVersion, ...rest } = once.object;
  const type = { kind: kind.kind, apiVersion: groupVersionOf(kind) };
  return { once: { ...type, metadata: { ...metadata, resourceVersion: String(revision) }, ...rest } };
}

/** Of an object that the caller may not see, only that the name is taken. */
function isGoing(call: Call, stored: StoredRecord | undefined): boolean {
  const record = visibleRecord(call, stored);
  return (
    record !== undefined && 'deletionTimestamp' in fromStoredText(record.value, call.kind, record.revision).metadata
  );
}

/** Undefined when it was gone again at once. */
interface Taken {
  takenBy: StoredRecord | undefined;
}

async function createNamed(call: Call, object: KubeObject, options: CreateOptions): Promise<VerbOutcome | Taken> {
  const { kind, kit, user } = call;
  const { strategy } = kind;
  const { namespace } = call.target;
  const now = timestamp(kit.clock.wallTime());
  const write: ObjectWrite = {
    ...{ object, old: undefined, user, now, dryRun: options.dryRun, namespace },
    warn: (line) => void call.warnings.push(line),
  };
  const name = object.metadata.name ?? '';
  if ((object.metadata.resourceVersion ?? '') !== '') {
    throw plainFailure('resourceVersion should not be set on objects to be created');
  }
  withoutDoubleOwners(object, call);
  if (options.keepsManagers !== true) trackCreate(call, object, now);
  for (const admit of kit.admission) {
    const about = { kind, namespace, name, requestName: call.target.name, subresource: '' };
    await admit({ operation: 'create', ...about, object, old: undefined, user });
  }
  await call.works?.();
  fillNewMeta(object, call, now);
  if (name === '') {
    throw new StatusFault(
      invalid(faultSubject(kind), '', [requiredValue('metadata.name', 'name or generateName is required')]),
    );
  }
  for (const line of strategy.warnings?.(object) ?? []) call.warnings.push(line);
  await strategy.prepareForCreate?.(write);
  await call.works?.();
  try {
    const errors = [
      ...metaErrors(object, undefined, { kind, dialect: kit.dialect }),
      ...schemaErrors(object, kit.catalog.schemaOf(kind)),
      ...(strategy.validate?.(write) ?? []),
    ];
    if (errors.length > 0) throw new StatusFault(invalid(faultSubject(kind), name, errors));
    if (!options.dryRun) await strategy.resources?.reserve(write);
    const stored = kind.conversion === undefined ? object : kind.conversion.toStored(object);
    const text = toStoredText(stored);
    checkSize(text, undefined, kit.limits);
    const key = storageKey(kind, namespace, name);
    const code = options.code ?? 201;
    if (options.dryRun) {
      const { record } = await kit.store.get(key);
      strategy.resources?.release(object);
      return record === undefined ? { kind: 'stored', code, text, revision: 0 } : { takenBy: record };
    }
    const written = await kit.store.write(key, { expect: 0, value: text });
    await call.works?.();
    if (written.ok) {
      call.wrote?.({ kind: kind.kind, text });
      return { kind: 'stored', code, text, revision: written.revision, ...shownOnce(call, write, written.revision) };
    }
    strategy.resources?.release(object);
    return { takenBy: written.current };
  } catch (error) {
    strategy.resources?.release(object);
    throw error;
  }
}

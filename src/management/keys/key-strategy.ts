// Handles the write of a key in the hooks of the kit: takes off the hidden fields, fills in defaults, validates and judges the
// result, and makes the secret. A fault of the object is 422; a missing right of the caller is 403.
import type { Kind, ObjectUpdate, ObjectWrite, Strategy } from '../../apiserver/kinds/kind.ts';
import type { User } from '../../apiserver/request/identity.ts';
import { forbiddenBecause, StatusFault } from '../../apiserver/request/status-fault.ts';
import { toStoredText } from '../../apiserver/wire/stored-text.ts';
import type { KeyLimits } from '../../config/settings/management-settings.ts';
import type { FieldError } from '../../object/meta/field-error.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { invalid } from '../../object/meta/status.ts';
import { isScoped } from '../scope/allows.ts';
import type { SubjectName } from '../scope/directory.ts';
import { keyResource, managementGroup } from '../scope/request.ts';
import { type KeyBook, ownerKey } from './book/key-book.ts';
import { type StatusParts, shownKey, shownKeyText } from './book/shown-key.ts';
import { hiddenPart, openHidden, restoreHidden, sealHidden, takeHidden } from './book/stored-key.ts';
import type { SuppliedValues } from './book/supplied-values.ts';
import type { Callers, Session } from './callers/callers.ts';
import type { UserDirectory } from './callers/user-directory.ts';
import { keyFacts } from './life/key-facts.ts';
import { ownerWarnings } from './owner-rules.ts';
import {
  changesToken,
  fillChangedKey,
  grantedAfter,
  grantedAtFirst,
  judgeChangedKey,
  type KeyChange,
  saysDisabled,
} from './rules/change.ts';
import { fillNewKey, judgeNewKey } from './rules/issue.ts';
import { type JudgeContext, type Judgement, refusalText } from './rules/judgement.ts';
import { keySpec, subjectOf, withKey } from './rules/key-spec.ts';
import { holderOf, makerText } from './rules/maker.ts';
import {
  createdByAnnotation,
  instanceLabel,
  isDisabledByOthers,
  markAsAdministrators,
  markDisabled,
  withoutNewMark,
} from './rules/server-marks.ts';
import { groupWarnings, validateKey } from './rules/validate-key.ts';
import type { FieldCipher } from './secret/field-cipher.ts';
import type { KeyRecord } from './secret/key-record.ts';
import type { Peppers } from './secret/pepper.ts';
import { mergeHidden, withCleared } from './secret/redact.ts';
import { makeSecret } from './secret/rotate.ts';
import { duplicateSupplied, suppliedSecret } from './secret/supplied.ts';
import type { RandomBytes } from './secret/token.ts';

export interface KeyOptions extends StatusParts {
  book: KeyBook;
  people: UserDirectory;
  callers: Callers;
  peppers: Peppers;
  /** Where other replicas make keys too. */
  supplied: SuppliedValues | undefined;
  cipher: FieldCipher;
  random: RandomBytes;
  limits: () => KeyLimits;
  /** All that are served here; an owner may be of any of them. */
  kinds: () => readonly Kind[];
}

/** What the first hook finds out about a write. */
interface Draft {
  context: JudgeContext;
  by: SubjectName;
  /** The value of the key, for judging and for the one answer that shows it. */
  plain: string;
  /** The caller brought the value along. */
  isSupplied?: boolean;
  wasDisabled: boolean;
  /** uid of the virtual cluster whose kubeconfig holds the key. */
  instance?: string | undefined;
  /** For the annotation of a new key. */
  createdBy?: string;
  judge(judged: KubeObject): Judgement;
}

const resource = { group: managementGroup, resource: keyResource };
/** More than an object may have, for the marks of an administrator who disables it, and the manager of that change. */
const markBytes = 2_048;
/** The schema has reported this fault already. */
const saidBySchema: ReadonlySet<string> = new Set(['spec.ttl', 'spec.type', 'spec.displayName', 'spec.description']);

export class KeyStrategy implements Strategy {
  readonly countsGenerations = true;
  readonly hasStatus = true;
  readonly #parts: KeyOptions;

  constructor(parts: KeyOptions) {
    this.#parts = parts;
  }

  // A key has a grace period only if the writer asks for one.
  readonly deletion = { gracePeriodSeconds: (): number => 0 };

  readonly hidden = {
    present: (object: KubeObject): KubeObject => shownKey(object, this.#parts),
    presentText: (text: string): string | undefined => shownKeyText(text, this.#parts),
    restore: restoreHidden,
    once: ({ object, facts }: ObjectWrite<Draft>): { object: KubeObject; warning: string } => {
      const shown = shownKey(object, this.#parts);
      const key = facts?.plain;
      const spec = { ...(shown['spec'] as object), ...(key === undefined ? {} : { key }) };
      return { object: { ...shown, spec }, warning: shownOnceText };
    },
  };

  readonly resources = {
    reserve: (write: ObjectWrite<Draft>): Promise<void> | void => {
      addServerMarks(write);
      return write.facts?.isSupplied ? this.#reserveValue(write, write.facts) : undefined;
    },
    release: ({ metadata: { uid = '' } }: KubeObject): void => {
      this.#parts.book.release(uid);
      this.#parts.supplied?.release(uid);
    },
  };

  warnings = (object: KubeObject): string[] => [
    ...validateKey(object).warnings,
    ...ownerWarnings(this.#parts.kinds, object),
  ];

  prepareForCreate = (write: ObjectWrite<Draft>): void => {
    const { object } = write;
    const { book, people, peppers, random, cipher } = this.#parts;
    const session = this.#sessionOf(write);
    const { kubeconfig } = session;
    const context = { ...contextOf(this.#parts, session), inherits: kubeconfig !== undefined };
    const hidden = takeHidden(object);
    delete object['status'];
    for (const line of fillNewKey(object, context)) write.warn(line);
    const uid = object.metadata.uid ?? '';
    const spec = keySpec(object);
    const owner = subjectOf(spec) ?? session.credential.subject;
    const supplied = hidden.key ?? '';
    const digests = supplied === '' ? [] : peppers.digests(supplied);
    const made = supplied === '' ? makeSecret(random, peppers) : suppliedSecret(supplied, peppers);
    const isTaken = book.isTaken(digests);
    const ownerKeys = book.ownerKeys(owner);
    const { isAdministrator } = context.caller;
    if (isAdministrator) this.#warnOfGroups(write);
    const creator = session.facts?.record;
    const holder = holderOf(session);
    // A kubeconfig ends with the key that asked for it, also when no scope narrows that key.
    const maker = isScoped(session.credential) || kubeconfig !== undefined ? creator : undefined;
    const granting = kubeconfig === undefined ? undefined : (creator ?? { grantedGroups: [] });
    const record: KeyRecord = {
      name: object.metadata.name ?? '',
      uid,
      ...made.part,
      subject: { kind: owner.kind, name: owner.name, uid: people.subjectUid(owner.kind, owner.name) ?? '' },
      grantedGroups: grantedAtFirst(spec.groups, granting, isAdministrator),
      ...(creator === undefined ? {} : { createdBy: { name: creator.name, uid: creator.uid } }),
      madeBy: maker === undefined ? undefined : { name: maker.name, uid: maker.uid },
      ...(holder === undefined ? {} : { holder }),
      ...(kubeconfig === undefined ? {} : { kubeconfig }),
      tokenGeneration: 1,
    };
    const sealed = sealHidden(mergeHidden({}, hidden, object), { sealed: {}, opened: {} }, { cipher, uid });
    object['hidden'] = { record, sealed };
    const bytes = toStoredText(object).length;
    const noRoom = book.bytes.refusal(0, ownerKey(owner), bytes, context.limits);
    write.facts = {
      context,
      by: session.credential.subject,
      plain: made.text,
      isSupplied: supplied !== '',
      wasDisabled: false,
      instance: kubeconfig?.instance,
      createdBy: makerText(session),
      judge: (judged) => {
        const judgement = judgeNewKey(supplied === '' ? judged : withKey(judged, supplied), context, ownerKeys);
        if (noRoom !== undefined) judgement.refusals.push({ field: 'metadata', message: noRoom });
        if (isTaken) judgement.errors.push(duplicateSupplied('spec.key'));
        return judgement;
      },
    };
    book.reserve(uid, owner, digests, bytes);
  };

  hearsRepeat = (old: KubeObject, user: User): boolean => {
    const session = isDisabledByOthers(old) ? this.#parts.callers.sessionOf(user) : undefined;
    return session !== undefined && this.#parts.callers.callerOf(session).isAdministrator;
  };

  prepareForUpdate = (write: ObjectUpdate<Draft>): void => {
    const { object, old } = write;
    const { peppers, cipher, activity, book } = this.#parts;
    const part = hiddenPart(old);
    const hidden = takeHidden(object);
    delete object['status'];
    delete old['status'];
    fillChangedKey(object, old);
    if (part === undefined) return;
    const session = this.#parts.callers.sessionOf(write.user);
    const key = hidden.key ?? '';
    const isSameKey = part.record.secrets.some((secret) => peppers.proves(key, secret));
    const opened = openHidden(part, cipher);
    const merged = mergeHidden(opened, hidden, withCleared(object, old, write.sent));
    const { uid } = part.record;
    const isAdministrator = session !== undefined && this.#parts.callers.callerOf(session).isAdministrator;
    if (isAdministrator) this.#warnOfGroups(write);
    const record: KeyRecord = {
      ...part.record,
      grantedGroups: grantedAfter(part.record, object, old, isAdministrator),
      tokenGeneration: part.record.tokenGeneration + (changesToken(object, old) ? 1 : 0),
    };
    object['hidden'] = { record, sealed: sealHidden(merged, { sealed: part.sealed, opened }, { cipher, uid }) };
    // The kit itself changes finalizers and owners: it is no caller, and nothing is judged.
    if (session === undefined) return;
    const facts = keyFacts(old, part.record);
    const context = contextOf(this.#parts, session);
    const isSelf = session.facts?.record.uid === uid;
    const lastActivityMs = activity.forExpiryMs(uid, facts.times.ttl);
    const change: Omit<KeyChange, 'object'> = { old, times: facts.times, lastActivityMs, isSameKey, isSelf };
    const before = book.bytesOf(part.record.name) ?? 0;
    // Whoever has used up the bytes of an owner or of an object must not keep a key alive by that: a disabled one has a longer text.
    const isStopped = isAdministrator && keySpec(object).disabled;
    if (isStopped) write.spareBytes = markBytes;
    const noRoom = isStopped
      ? undefined
      : book.bytes.refusal(before, ownerKey(record.subject), toStoredText(object).length, context.limits);
    const by = session.credential.subject;
    const takesOver = isAdministrator && isDisabledByOthers(old) && saysDisabled(object, old, write.stated);
    if (takesOver) markAsAdministrators(object, by);
    const judge = (written: KubeObject) => {
      const judged = takesOver ? withoutNewMark(written, old) : written;
      const judgement = judgeChangedKey({ ...change, object: key === '' ? judged : withKey(judged, key) }, context);
      if (noRoom !== undefined) judgement.refusals.push({ field: 'metadata', message: noRoom });
      return judgement;
    };
    write.facts = { context, by, plain: '', wasDisabled: facts.isDisabled, judge };
    // Without the value the object may look unchanged, and the verbs judge only changed objects. So it is judged here.
    if (key === '' || isSameKey) return;
    const errors = [...validateKey(object).errors, ...judge(object).errors];
    throw new StatusFault(invalid({ group: managementGroup, kind: 'OwnedAccessKey' }, part.record.name, errors));
  };

  validate = ({ object, facts: draft }: ObjectWrite<Draft>): FieldError[] => {
    const errors = validateKey(object).errors.filter(({ path }) => !saidBySchema.has(path));
    if (errors.length > 0 || draft === undefined) return errors;
    const judgement = draft.judge(object);
    if (judgement.errors.length > 0) return judgement.errors;
    if (judgement.refusals.length === 0) return [];
    const causes = judgement.refusals.map(({ field, message }) => ({ reason: 'FieldValueForbidden', message, field }));
    throw forbiddenBecause(resource, object.metadata.name ?? '', refusalText(judgement.refusals), causes);
  };

  #warnOfGroups({ object, old, warn }: ObjectWrite<Draft>): void {
    for (const line of groupWarnings(object, old, this.#parts.people.directory.knownGroups)) warn(line);
  }

  /** Another replica may have made a key with the value, or be about to. */
  async #reserveValue({ object: { metadata } }: ObjectWrite<Draft>, { plain }: Draft): Promise<void> {
    const { book, peppers, supplied } = this.#parts;
    const { uid = '', name = '' } = metadata;
    if (supplied === undefined) return;
    if ((await supplied.reserve(uid, plain)) && !book.isInUse(peppers.digests(plain))) return;
    throw new StatusFault(
      invalid({ group: managementGroup, kind: 'OwnedAccessKey' }, name, [duplicateSupplied('spec.key')]),
    );
  }

  #sessionOf({ user }: ObjectWrite): Session {
    const session = this.#parts.callers.sessionOf(user);
    if (session === undefined) throw new Error('make a key: want an authenticated caller');
    return session;
  }
}

/** The object is in order: now the server adds its own marks. */
function addServerMarks({ object, facts: draft }: ObjectWrite<Draft>): void {
  if (draft === undefined) return;
  markDisabled(object, draft.wasDisabled, draft.by, draft.context.caller.isAdministrator);
  const { labels, annotations } = object.metadata;
  if (draft.createdBy !== undefined)
    object.metadata.annotations = { ...annotations, [createdByAnnotation]: draft.createdBy };
  if (draft.instance !== undefined) object.metadata.labels = { ...labels, [instanceLabel]: draft.instance };
}

export function contextOf(parts: KeyOptions, session: Session): JudgeContext {
  const { callers, people, limits, clock } = parts;
  const nowMs = clock.wallTime().getTime();
  return { caller: callers.callerOf(session), directory: people.directory, limits: limits(), nowMs };
}

const shownOnceText =
  'spec.key is shown in this answer alone; print it with -o jsonpath={.spec.key}, and keep it like a password. Where the answer is lost, "hostward keys rotate NAME" gives the key a new value';

// Who is behind a key: in words for its annotations, and as the person who was shown its value. Pure.
import type { Credential } from '../../scope/allows.ts';
import type { KeyFacts } from '../life/key-facts.ts';
import type { KeyRecord } from '../secret/key-record.ts';

interface Maker {
  credential: Credential;
  /** Undefined for the program itself. */
  facts: KeyFacts | undefined;
  isFormer?: boolean;
  osUser?: string;
}

/** `user:alice key:laptop`, `team:red key:ci user:alice` (a key of the team that Alice holds), or `os:root` for the socket. */
export function makerText({ credential, facts, isFormer, osUser = '' }: Maker): string {
  if (facts === undefined) return `os:${plain(osUser)}`;
  const { kind, name } = credential.subject;
  const person = kind === 'user' ? undefined : shownTo(facts.record, isFormer);
  const behind = person === undefined ? '' : ` user:${plain(person.name)}`;
  return `${kind}:${plain(name)} key:${facts.name}${behind}`;
}

/** The person who has the value that this session gets: its user, or whoever holds the team's key that asks. */
export function holderOf({ credential, facts, isFormer }: Maker): KeyRecord['holder'] {
  if (facts === undefined) return undefined;
  if (credential.subject.kind !== 'user') return shownTo(facts.record, isFormer);
  return { name: facts.record.subject.name, uid: facts.record.subject.uid };
}

/** A rotation with an overlap leaves two values, which different persons may have been shown. */
function shownTo({ holder, formerHolder }: KeyRecord, isFormer = false): KeyRecord['holder'] {
  return isFormer ? formerHolder : holder;
}

/** Spaces separate the parts of the text, so a name must hold none. */
function plain(name: string): string {
  return name.replace(/[\s%]/gu, encodeURIComponent);
}

// Decides which keys a caller can see. A key that the caller cannot see is answered like an absent name: 404, never 403.
import { actsAsAdministrator, allows, type Credential, isScoped } from '../../scope/allows.ts';
import type { Directory } from '../../scope/directory.ts';
import { type AccessRequest, isManagementResource, keyResource, managementGroup } from '../../scope/request.ts';
import type { KeyFacts } from './key-facts.ts';

/** The requests that name a key and do something with it, the reads first because most rules are about them. */
const namingRequests: readonly { verb: string; subresource: string }[] = [
  ...['get', 'list', 'watch', 'update', 'patch', 'delete'].map((verb) => ({ verb, subresource: '' })),
  ...['create', 'get', 'update', 'patch', 'delete'].map((verb) => ({ verb, subresource: 'rotate' })),
];

/** Whether the scopes together allow any of these requests: the base grant allows the own key, rules allow others. */
export function isNameInScope(name: string, credential: Credential, directory: Directory): boolean {
  if (!isScoped(credential)) return true;
  const about = { isResource: true, target: { kind: 'Management' }, group: managementGroup } as const;
  return namingRequests.some(
    (of) => allows(directory, credential, { ...about, ...of, resource: keyResource, namespace: '', name }).allowed,
  );
}

/**
 * The credential sees the keys of its subject and of the teams that the subject is in, as far as its scopes name them; an
 * administrator without scope sees all keys.
 */
export function isVisible(
  { name, record }: Pick<KeyFacts, 'name' | 'record'>,
  credential: Credential,
  directory: Directory,
): boolean {
  if (actsAsAdministrator(credential)) return true;
  const { subject } = credential;
  const { kind, name: owner } = record.subject;
  const isOwned = kind === 'team' ? subject.teams.has(owner) : subject.kind === kind && subject.name === owner;
  return isOwned && isNameInScope(name, credential, directory);
}

export interface KeysAndPeople {
  directory: Directory;
  /** By the name of the object. */
  key(name: string): KeyFacts | undefined;
}

/** Whether the request names a key that is absent or does not exist for the caller. A list or watch is empty instead. */
export function namesNoVisibleKey(
  request: AccessRequest,
  credential: Credential,
  { directory, key }: KeysAndPeople,
): boolean {
  if (!isManagementResource(request, keyResource) || request.namespace !== '' || request.name === '') return false;
  if (request.verb === 'list' || request.verb === 'watch') return false;
  // The scopes are asked whether or not there is such a key, so that the time of the answer reveals nothing.
  const isInScope = isNameInScope(request.name, credential, directory);
  const facts = key(request.name);
  return !isInScope || facts === undefined || !isVisible(facts, credential, directory);
}

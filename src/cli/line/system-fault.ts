// Turns an error of the operating system into a sentence and an exit code: a missing file is a fault of the input, a taken
// port is a fault of the environment.
import { dirname, resolve } from 'node:path';
import { CommandFault, type Context, type ExitCode, exitCodes } from './context.ts';

interface SystemError extends Error {
  code: string;
  errno?: number;
  path?: string;
  address?: string;
  port?: number;
  syscall?: string;
  /** The setting of the address that could not be opened. */
  setting?: string;
}

const meanings: Record<string, { exitCode: ExitCode; says: string }> = {
  ENOENT: { exitCode: exitCodes.input, says: 'there is no such file or folder' },
  ENOTDIR: { exitCode: exitCodes.input, says: 'a part of the path is not a folder' },
  EEXIST: { exitCode: exitCodes.input, says: 'the name is already taken' },
  EISDIR: { exitCode: exitCodes.input, says: 'wanted a file, found a folder' },
  EACCES: { exitCode: exitCodes.environment, says: 'permission denied' },
  EPERM: { exitCode: exitCodes.environment, says: 'not permitted' },
  EROFS: { exitCode: exitCodes.environment, says: 'the file system is read-only' },
  ENOSPC: { exitCode: exitCodes.environment, says: 'the disk is full' },
  EMFILE: { exitCode: exitCodes.environment, says: 'too many open files' },
  EADDRINUSE: { exitCode: exitCodes.environment, says: 'the port is taken' },
  EADDRNOTAVAIL: { exitCode: exitCodes.environment, says: 'this machine does not have the address' },
  ECONNREFUSED: { exitCode: exitCodes.environment, says: 'connection refused' },
  ECONNRESET: { exitCode: exitCodes.environment, says: 'connection reset' },
  ETIMEDOUT: { exitCode: exitCodes.environment, says: 'no answer in time' },
  EHOSTUNREACH: { exitCode: exitCodes.environment, says: 'no route to the address' },
  ENETUNREACH: { exitCode: exitCodes.environment, says: 'no route to the network' },
  ENOTFOUND: { exitCode: exitCodes.environment, says: 'the name is not known' },
  EAI_AGAIN: { exitCode: exitCodes.environment, says: 'the name cannot be looked up now' },
};

const listenHint = 'choose another address there, or end the program that has this one';

/** What the operating system answers to a call that is wrong in itself. */
const ofBugs = new Set(['EBADF', 'EINVAL', 'EFAULT', 'ENOTSOCK']);

/** Undefined when the error does not come from the operating system; such an error is a bug. */
export function systemFault(thrown: unknown): CommandFault | undefined {
  if (!isSystemError(thrown)) return undefined;
  const meaning = meanings[thrown.code];
  if (meaning !== undefined)
    return new CommandFault(meaning.exitCode, `cannot ${actionOf(thrown)}: ${meaning.says}`, {
      cause: thrown,
      ...(thrown.syscall === 'listen' ? { hint: listenHint } : {}),
    });
  // An error of Node itself has no number of the operating system.
  if (thrown.errno === undefined || thrown.syscall === undefined || ofBugs.has(thrown.code)) return undefined;
  const sentence = `cannot ${actionOf(thrown)}: the operating system answers ${thrown.code}`;
  return new CommandFault(exitCodes.environment, sentence, { cause: thrown });
}

function actionOf(error: SystemError): string {
  const place =
    error.address === undefined ? '' : `"${error.address}${error.port === undefined ? '' : `:${error.port}`}"`;
  switch (error.syscall) {
    case 'listen':
      return `listen on ${place}${error.setting === undefined ? '' : `, the address of ${error.setting}`}`;
    case 'connect':
      return `connect to ${place}`;
    case 'mkdir':
      return `make the folder "${error.path ?? ''}"`;
    case 'scandir':
      return `list "${error.path ?? 'the folder'}"`;
    case 'getaddrinfo':
      return error.setting === undefined ? 'find the server' : `find the host of ${error.setting}`;
    case 'open':
    case 'read':
    case 'write':
    case 'rename':
      return `${error.syscall} "${error.path ?? 'the file'}"`;
    default:
      return `${error.syscall ?? 'go on'}${error.path === undefined ? '' : ` "${error.path}"`}`;
  }
}

function isSystemError(thrown: unknown): thrown is SystemError {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string';
}

/**
 * Refuses an option whose file would lie in a missing folder, before a command does anything: a typo must neither make folders nor lose a
 * secret that is shown once. `option` is as the user writes it, `file` as the user has written it. Returns the names in the folder. */
export async function requireFolderOf(context: Context, option: string, file: string): Promise<string[]> {
  const folder = dirname(resolve(context.cwd, file));
  try {
    return await context.files.list(folder);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw systemFault(cause) ?? cause;
    const found = code === 'ENOENT' ? 'there is no such folder' : 'a part of the path is a file';
    throw new CommandFault(exitCodes.input, `${option} ${file}: wanted a file in the folder ${folder}, ${found}`, {
      hint: 'correct the path, or make the folder first',
      cause,
    });
  }
}

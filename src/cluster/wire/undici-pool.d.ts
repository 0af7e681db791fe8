// Types for the one module of undici that is loaded: the whole of it costs 8 MB of memory more.
declare module 'undici/lib/dispatcher/pool.js' {
  import { Pool } from 'undici';
  export default Pool;
}

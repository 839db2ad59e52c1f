// Preloaded by NODE_OPTIONS=--import: appends the path of every module that is loaded to the file
// TRACE_MODULES_TO.
import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

registerHooks({
  load(url, context, nextLoad) {
    if (url.startsWith('file:')) appendFileSync(process.env.TRACE_MODULES_TO, `${fileURLToPath(url)}\n`);
    return nextLoad(url, context);
  },
});

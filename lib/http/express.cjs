// Express where it is installed, else nothing: without a static import a missing one can be named by the options. Bundlers follow this
// `require`.
'use strict';

try {
  module.exports = require('express');
} catch (error) {
  // Not where Express is there and something of it is missing.
  if (!/MODULE_NOT_FOUND/.test(error?.code) || !error.message.includes("'express'")) throw error;
  module.exports = undefined;
}

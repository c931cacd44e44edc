# RegistrationDeclarations.h
registration_declarations:
${registration_declarations}
